import type { Part } from "../../core/part.ts";
import type { Db } from "../../db/context.ts";
import { type TopicWorker, workTopic } from "../../queue/work-topic.ts";
import type { WorkflowStore } from "../workflow-store.ts";
import { createRunWaits, type RunWaits } from "./children/run-waits.ts";
import { workOnRun } from "./claimed/work-on-run.ts";
import { repairRuns } from "./end/repair-runs.ts";
import type { ExecuteRun, ReadDefinition } from "./run.ts";
import { RUN_TOPIC } from "./run-topic.ts";

export interface Runs extends Part<Db> {
  readonly wake: () => void;
  /** For steps that wait for other runs. */
  readonly waits: RunWaits;
  /**
   * Claims from here on; all parts are open.
   * @param readDefinition reads a stored definition with the fields of its steps as their kinds' schemas return them.
   */
  readonly start: (execute: ExecuteRun, readDefinition: ReadDefinition) => void;
}

/**
 * Pauses after tries that threw: only a fault of the gateway does. Together longer than it takes to lose three workers,
 * so that the fourth can say so.
 */
const PAUSES_MS = [1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 60_000, 60_000];
const REPAIR_PAUSE_MS = 60_000;
const REPAIR_FIRST_MS = 10_000;

/** The worker of this replica for runs. */
export function openRuns(store: Omit<WorkflowStore, "wakeRuns" | "kinds">): Runs {
  const { settings, database, clock, log } = store;
  const { WORKFLOW_CONCURRENCY, RUN_LEASE_MS: leaseMs } = settings;
  const waits = createRunWaits();
  let worker: TopicWorker | undefined;
  const wake = () => worker?.wake();
  return {
    wake,
    waits,
    start(execute, readDefinition) {
      if (WORKFLOW_CONCURRENCY === 0) return;
      worker = workTopic(
        { db: database.db, clock, log },
        {
          name: RUN_TOPIC,
          pausesMs: PAUSES_MS,
          leaseMs,
          // A run that only waits for another one leaves its place to it, or all places could wait.
          get concurrency() {
            return WORKFLOW_CONCURRENCY + waits.count();
          },
          isPaused: () => !store.isLicensed(),
          work: (job, context) =>
            workOnRun({ store, execute, readDefinition, waits, wake }, job, context),
        },
      );
    },
    jobs: [
      {
        name: "repair runs",
        pauseMs: REPAIR_PAUSE_MS,
        firstMs: REPAIR_FIRST_MS,
        async run() {
          const repaired = await repairRuns(database.db, clock.now());
          if (repaired.length === 0) return;
          log.warn({ workflows: repaired }, "the queues of workflows were set going again");
          wake();
        },
      },
    ],
    close: async () => worker?.close(),
  };
}
