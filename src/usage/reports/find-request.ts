import { and, type SQL, sql } from "drizzle-orm";
import type { SessionCaller } from "../../core/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { timeOfRequestId } from "../../lib/id.ts";
import { type MeteredRequest, selectRequests } from "./metered-request.ts";
import type { UsageReading } from "./read-usage-report.ts";
import { usageScope } from "./usage-scope.ts";

/** One request. Rejects with `not_found` for one that is not the caller's to see, as for one that is not there. */
export async function readRequest(
  reading: Pick<UsageReading, "database">,
  caller: SessionCaller,
  id: string,
): Promise<MeteredRequest> {
  const found = ID.test(id) ? await findRequest(reading, id, usageScope(caller, {})) : undefined;
  if (found !== undefined) return found;
  throw new ServiceError(
    "not_found",
    "There is no such request. A row appears about a second after its call has ended, and is kept for USAGE_RETENTION_DAYS.",
  );
}

/** What may be an id: the database refuses a NUL. */
const ID = /^[\x21-\x7e]{1,200}$/;

/**
 * Looks for a request by its id, under a further condition. An id tells when its call came, which is when its row
 * starts: one day is looked at. Ids made elsewhere are looked for in all of them, by their primary key.
 */
export async function findRequest(
  { database }: Pick<UsageReading, "database">,
  id: string,
  condition: SQL | undefined,
): Promise<MeteredRequest | undefined> {
  const ofId = and(sql`usage_records.id = ${id}`, condition) ?? sql`true`;
  const told = timeOfRequestId(id);
  const [atOnce] =
    told === undefined
      ? []
      : await database.ask((db) => {
          const startedThen = sql`started_at = ${new Date(told).toISOString()}::timestamptz`;
          return selectRequests(db, sql`${ofId} and ${startedThen}`, 1);
        });
  if (atOnce !== undefined) return atOnce;
  const [found] = await database.ask((db) => selectRequests(db, ofId, 1));
  return found;
}
