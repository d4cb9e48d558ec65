import type { Backend } from "../../backends/backend.ts";
import type { Db } from "../../db/context.ts";
import { overdueEvents } from "../../queue/figures.ts";
import type { AlertFacts } from "./alert-facts.ts";

const PROBE_TIMEOUT_MS = 5_000;

export interface AlertSources {
  readonly db: Db;
  /** The local one. */
  readonly engine: Pick<Backend, "isReachable">;
}

/** What the parts that there are tell. Tool servers and workflows are none yet. */
export function collectAlertFacts({ db, engine }: AlertSources): AlertFacts {
  return {
    engineAnswers: () => engine.isReachable(AbortSignal.timeout(PROBE_TIMEOUT_MS)),
    overdueEvents: (before, exceptKind) => overdueEvents(db, before, exceptKind),
    failedToolServers: async () => [],
    failedRuns: async () => [],
    failingWorkflows: async () => [],
    waitingRuns: async () => undefined,
  };
}
