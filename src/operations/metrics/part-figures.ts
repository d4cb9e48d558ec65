import type { Db } from "../../db/context.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";

const CONNECTION_KINDS = ["postgres", "mysql", "mssql", "sqlite"] as const;
const TOOL_SERVER_STATUSES = ["connected", "disabled", "error"] as const;
const RUN_STATUSES = ["queued", "running", "completed", "failed", "stopped"] as const;

/** What the parts behind the gateway tell of themselves. Of a part that is not there everything is 0. */
export interface PartFigures {
  /** Saved database connections. */
  readonly connections: Readonly<Record<(typeof CONNECTION_KINDS)[number], number>>;
  readonly toolServers: Readonly<Record<(typeof TOOL_SERVER_STATUSES)[number], number>>;
  /** Runs of workflows that came in the last 24 hours, by where they stand now. */
  readonly runs: Readonly<Record<(typeof RUN_STATUSES)[number], number>>;
  /** 0 when none waits. */
  readonly oldestQueuedRunAgeSeconds: number;
  /** Runs that have been running for more than half the time allowed. */
  readonly staleRuns: number;
}

/**
 * Reads what one part has to tell; what it leaves out is another's.
 *
 * @param now Unix milliseconds.
 */
export type ReadPartFigures = (db: Db, now: number) => Promise<Partial<PartFigures>>;

const NONE: PartFigures = {
  connections: zeroCounts(CONNECTION_KINDS),
  toolServers: zeroCounts(TOOL_SERVER_STATUSES),
  runs: zeroCounts(RUN_STATUSES),
  oldestQueuedRunAgeSeconds: 0,
  staleRuns: 0,
};

/** The figures of all parts. Rejects with what the database threw. */
export async function readPartFigures(
  parts: readonly ReadPartFigures[],
  db: Db,
  now: number,
): Promise<PartFigures> {
  const told: Partial<PartFigures>[] = [];
  // One after another: a scrape takes one connection.
  for (const read of parts) told.push(await read(db, now));
  return Object.assign({}, NONE, ...told);
}
