import { eq } from "drizzle-orm";
import type { AnyCaller } from "../../core/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { users } from "../../db/tables/users.ts";
import type { ApiKeyPatch, ApiKeyRecord } from "./api-key-record.ts";
import { isAbove, NEW_KEY_RIGHTS } from "./refuse-more-rights.ts";
import { refuseUnknownAssistant } from "./refuse-unknown-assistant.ts";

interface Grant {
  /** The owner of the key. */
  readonly ownerId: string;
  /** The new values of the key; undefined fields stay unchanged. */
  readonly given: ApiKeyPatch;
  readonly had?: Pick<ApiKeyRecord, "maxLevel">;
}

/**
 * Refuses a service token that would get or give more with a key than its scope `keys:write` is meant for: a key of an
 * administrator, which acts as one, a level above `read_only`, or an assistant that the owner may not use. Throws
 * `insufficient_permission` or, for the assistant, `not_found`.
 */
export async function refuseAboveToken(
  transaction: Db,
  caller: AnyCaller,
  { ownerId, given, had = NEW_KEY_RIGHTS }: Grant,
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
  const { maxLevel, assistantId } = given;
  if (maxLevel !== undefined && isAbove(maxLevel, had.maxLevel)) {
    throw new ServiceError(
      "insufficient_permission",
      "A service token gives keys no max_level above read_only. Use the session of an administrator.",
      { param: "max_level" },
    );
  }
  await refuseUnknownAssistant(transaction, { role: "user", ownerId }, assistantId);
}
