import { and, count, eq, ne } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { users } from "../../db/tables/users.ts";

/** All keys are in the memory of every replica; administrators answer for that themselves. */
const KEYS_MAX = 1_000;

/**
 * Refuses with `invalid_value` when a user who is no administrator has more keys than a user may have. Called with the
 * new key in place: keys are made one after the other, so that two at once do not both find room.
 */
export async function refuseTooManyKeys(transaction: Db, ownerId: string): Promise<void> {
  const [counted] = await transaction
    .select({ total: count() })
    .from(apiKeys)
    .innerJoin(users, eq(users.id, apiKeys.ownerId))
    .where(and(eq(apiKeys.ownerId, ownerId), ne(users.role, "admin")));
  if ((counted?.total ?? 0) <= KEYS_MAX) return;
  throw new ServiceError(
    "invalid_value",
    `A user has at most ${KEYS_MAX.toLocaleString("en")} API keys; delete some that are no longer used.`,
  );
}
