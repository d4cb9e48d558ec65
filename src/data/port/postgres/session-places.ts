import { ADVISORY_LOCK } from "../../../db/locks/advisory-locks.ts";
import { EngineRefusal } from "../engine.ts";
import type { RunStatement } from "./log-in.ts";

/** The statement that takes a free one of `most` places; it brings no row where there is none. */
function placeStatement(most: number): string {
  return `select from pg_catalog.generate_series(1, ${most}) as place
    where pg_catalog.pg_try_advisory_lock(${ADVISORY_LOCK.readerPlace}, place) limit 1`;
}

/** The same for a session that may have its place still, and takes no second one. */
export function placeAgainStatement(most: number): string {
  const key = ADVISORY_LOCK.readerPlace;
  return `select from pg_catalog.generate_series(1, ${most}) as place
    where case when exists (
      select from pg_catalog.pg_locks
      where locktype = 'advisory' and classid = ${key} and objsubid = 2 and pid = pg_catalog.pg_backend_pid()
    ) then false else pg_catalog.pg_try_advisory_lock(${key}, place) end limit 1`;
}

/**
 * Takes one of `most` places on the database server, which all replicas share, by a session that has just logged in: a
 * lock of the session, so that its place is free at once when it ends, however that happens. A client that gives up its
 * locks, as pools do by DISCARD ALL, takes a place again (`EngineSession.takePlace`). Should all be taken in this moment
 * it stays: it was there before, and each replica's own limit holds. Rejects with an EngineRefusal, 53300.
 */
export async function takePlace(run: RunStatement, most: number): Promise<void> {
  const taken = await run(placeStatement(most));
  if (taken.length > 0) return;
  throw new EngineRefusal(
    "53300",
    `All ${most} connections that the database server has for readers are in use. Try again later.`,
    "They are half of its max_connections, for all replicas of the gateway.",
  );
}
