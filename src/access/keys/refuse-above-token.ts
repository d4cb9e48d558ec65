import { and, eq, inArray, sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { auditLog } from "../../db/tables/audit-log.ts";
import { users } from "../../db/tables/users.ts";
import type { ApiKeyPatch, ApiKeyRecord } from "./api-key-record.ts";
import { isAbove, NEW_KEY_RIGHTS } from "./refuse-more-rights.ts";
import { BOUND_PARAMS, refuseWidening } from "./refuse-raise.ts";
import { refuseUnknownAssistant } from "./refuse-unknown-assistant.ts";

interface Grant {
  /** The owner of the key. */
  readonly ownerId: string;
  /** The new values of the key; undefined fields stay unchanged. */
  readonly given: ApiKeyPatch;
  /** The key before a change. */
  readonly had?: ApiKeyRecord;
}

/**
 * Refuses a service token that would get or give more with a key than its scope `keys:write` is meant for: a key of an
 * administrator, which acts as one, a level above `read_only`, `passthrough`, or an assistant that the owner may not use.
 * A key with such rights, or with bounds that a person set, may only lose. Throws `insufficient_permission` or, for the
 * assistant, `not_found`.
 */
export async function refuseAboveToken(
  transaction: Db,
  caller: AnyCaller,
  { ownerId, given, had }: Grant,
): Promise<void> {
  if (caller.kind !== "service_token") return;
  const [owner] = await transaction
    .select({ role: users.role })
    .from(users)
    .where(eq(users.id, ownerId));
  if (owner?.role === "admin") {
    throw new ServiceError(
      "insufficient_permission",
      "A service token manages only keys of users who are not administrators, because such a key acts as its owner. " +
        "Name another user in `owner_id`.",
      { param: "owner_id" },
    );
  }
  const rights = had ?? NEW_KEY_RIGHTS;
  const { maxLevel, passthrough, assistantId } = given;
  if (maxLevel !== undefined && isAbove(maxLevel, rights.maxLevel)) {
    throw notByToken("max_level", "no max_level above read_only");
  }
  if (passthrough === true && !rights.passthrough)
    throw notByToken("passthrough", "no passthrough");
  if (had !== undefined && (hasMoreRights(had) || (await isBoundByPerson(transaction, had.id)))) {
    refuseWidening(given, had);
  }
  await refuseUnknownAssistant(transaction, { role: "user", ownerId }, assistantId);
}

function hasMoreRights({ maxLevel, passthrough }: ApiKeyRecord): boolean {
  return passthrough || isAbove(maxLevel, NEW_KEY_RIGHTS.maxLevel);
}

/** The audit log knows who set what. */
async function isBoundByPerson(transaction: Db, id: string): Promise<boolean> {
  const names = sql.join(
    BOUND_PARAMS.map((param) => sql`${param}::text`),
    sql`, `,
  );
  const [found] = await transaction
    .select({ id: auditLog.id })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.targetId, id),
        inArray(auditLog.action, ["api_key.create", "api_key.update"]),
        inArray(auditLog.via, ["session", "key"]),
        sql`jsonb_exists_any(jsonb_strip_nulls(${auditLog.details}), array[${names}])`,
      ),
    )
    .limit(1);
  return found !== undefined;
}

function notByToken(param: string, what: string): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    `A service token gives keys ${what}. Use the session of an administrator.`,
    { param },
  );
}
