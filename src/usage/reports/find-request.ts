import { and, type SQL, sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { DAY_MS, dayOf } from "../../db/days/day-table.ts";
import { timeOfRequestId } from "../../lib/id.ts";
import { type MeteredRequest, selectRequests } from "./metered-request.ts";
import type { UsageReading } from "./read-usage-report.ts";
import { usageScope } from "./usage-scope.ts";

/**
 * Reads one request. Rejects with `not_found` alike for a request that the caller may not see and for one that does not
 * exist.
 */
export async function readRequest(
  reading: Pick<UsageReading, "database">,
  caller: AnyCaller,
  id: string,
): Promise<MeteredRequest> {
  const found = ID.test(id) ? await findRequest(reading, id, usageScope(caller, {})) : undefined;
  if (found !== undefined) return found;
  throw new ServiceError(
    "not_found",
    "There is no such request. A row appears about a second after its call has ended, and is kept for USAGE_RETENTION_DAYS.",
  );
}

/** Syntax of an id; without this check a NUL would make the database fail. */
const ID = /^[\x21-\x7e]{1,200}$/;

/**
 * Finds a request by its id, under a further condition. An id made here contains the time of its call, at which its row
 * starts, so only its UTC day and the two beside it are searched, whether there is such a row or not. Other ids are
 * searched in all days, by primary key: that locks each day and its indexes.
 */
export async function findRequest(
  { database }: Pick<UsageReading, "database">,
  id: string,
  condition: SQL | undefined,
): Promise<MeteredRequest | undefined> {
  const told = timeOfRequestId(id);
  const ofDays = told === undefined ? undefined : isNear(told);
  const ofId = and(sql`usage_records.id = ${id}`, ofDays, condition) ?? sql`true`;
  const [found] = await database.ask((db) => selectRequests(db, ofId, 1));
  return found;
}

function isNear(at: number): SQL {
  const [from, to] = [dayOf(at) - DAY_MS, dayOf(at) + 2 * DAY_MS].map((edge) =>
    new Date(edge).toISOString(),
  );
  return sql`started_at >= ${from}::timestamptz and started_at < ${to}::timestamptz`;
}
