import { setTimeout as sleep } from "node:timers/promises";
import { shareRuns } from "../../lib/concurrency.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import type { KeepList } from "./changes/keep-list.ts";
import type { AskServer } from "./client/ask-server.ts";
import type { KnownServers } from "./known-servers.ts";
import type { ServerHealths } from "./server-health.ts";
import { addressOf } from "./tool-server.ts";

const OUTCOMES = ["ok", "error"] as const;

/** The checks of tool servers. Each server is checked by itself, so that none waits for another. */
export interface ServerChecks {
  /** Checks a server; resolves when a check that began after the call has ended. Never rejects. */
  readonly check: (id: string) => Promise<void>;
  /** Begins a check of each server, except those being checked. Does not wait. */
  readonly checkAll: () => void;
  /** Begins a check of each server without a result. Does not wait. */
  readonly checkNew: () => void;
  /** A call has failed: begins a check unless one is in progress. Does not wait. */
  readonly callFailed: (id: string) => void;
  readonly counts: () => Readonly<Record<(typeof OUTCOMES)[number], number>>;
  /** Waits for the checks in progress, which the signal of `ask` ends. */
  readonly close: (limitMs: number) => Promise<void>;
}

interface CheckOptions {
  readonly known: KnownServers;
  readonly healths: ServerHealths;
  readonly ask: AskServer;
  readonly keepList: KeepList;
  /** Ends all checks. */
  readonly closing: AbortSignal;
}

interface Checked {
  readonly run: () => Promise<void>;
  inProgress: number;
}

export function createServerChecks(options: CheckOptions): ServerChecks {
  const { known, closing, healths } = options;
  const counts = zeroCounts(OUTCOMES);
  const checked = new Map<string, Checked>();
  const running = new Set<Promise<void>>();
  const checkedOf = (id: string): Checked => {
    const before = checked.get(id);
    if (before !== undefined) return before;
    const run = shareRuns(async () => {
      const outcome = await checkOnce(id, options).catch(() => undefined);
      if (outcome !== undefined) counts[outcome] += 1;
    });
    const added = { run, inProgress: 0 };
    checked.set(id, added);
    return added;
  };
  const check = async (id: string): Promise<void> => {
    if (closing.aborted) return;
    const server = checkedOf(id);
    server.inProgress += 1;
    const run = server.run().finally(() => {
      server.inProgress -= 1;
      running.delete(run);
    });
    running.add(run);
    await run;
  };
  const begin = (id: string): void => {
    if ((checked.get(id)?.inProgress ?? 0) === 0) void check(id);
  };
  return {
    check,
    checkAll() {
      for (const [id, { inProgress }] of checked) {
        if (inProgress === 0 && known.find(id) === undefined) checked.delete(id);
      }
      for (const { row } of known.list()) if (row.enabled) begin(row.id);
    },
    checkNew() {
      for (const { row } of known.list()) {
        if (row.enabled && healths.of(row).checkedAt === null) begin(row.id);
      }
    },
    callFailed: begin,
    counts: () => counts,
    async close(limitMs) {
      const ended = Promise.allSettled(running);
      await Promise.race([ended, sleep(limitMs, undefined, { ref: false })]);
    },
  };
}

async function checkOnce(
  id: string,
  { known, healths, ask, keepList }: CheckOptions,
): Promise<(typeof OUTCOMES)[number] | undefined> {
  const server = known.find(id);
  if (server === undefined || !server.row.enabled) return undefined;
  const outcome = await ask(server.link);
  const now = known.find(id);
  // What is found at an address that is no longer the server's has no meaning.
  if (now === undefined || addressOf(now.row) !== addressOf(server.row)) return undefined;
  healths.record(now.row, outcome);
  if (outcome.reason !== undefined) return "error";
  await keepList(now, outcome.tools);
  return "ok";
}
