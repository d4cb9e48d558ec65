import { and, eq, sql } from "drizzle-orm";
import type { Settings } from "../config/settings.ts";
import { type Db, withTransaction } from "../db/context.ts";
import type { Database } from "../db/database.ts";
import { nextChange } from "../db/next-change.ts";
import { apiKeys } from "../db/tables/api-keys.ts";
import { users } from "../db/tables/users.ts";
import { randomBase62 } from "../lib/id.ts";
import { createApiKey, type NewApiKey, newApiKeyText } from "./create-api-key.ts";
import type { HashApiKey } from "./hash-api-key.ts";
import { replaceDevKey } from "./replace-dev-key.ts";

/** Any constant does; it is this program's own. */
const FIRST_START_LOCK = 4_823_116_094;
const ADMIN_NAME = "admin";

export interface FirstStartOptions {
  readonly database: Pick<Database, "db">;
  readonly settings: Pick<
    Settings,
    "BOOTSTRAP_API_KEY" | "BOOTSTRAP_API_KEY_PASSTHROUGH" | "DEV_API_KEY"
  >;
  readonly hashApiKey: HashApiKey;
}

/**
 * Sees to it that there is an administrator and a key, and that the keys of the settings work. Each start runs
 * it; all but the first find their work done, and of several replicas only one does it.
 * A key issued here is returned to be shown once.
 */
export function firstStart({
  database,
  settings,
  hashApiKey,
}: FirstStartOptions): Promise<{ readonly issuedKey?: string }> {
  return withTransaction(database.db, async (transaction) => {
    await transaction.execute(sql`select pg_advisory_xact_lock(${FIRST_START_LOCK})`);
    const ownerId = await findOrCreateAdmin(transaction);
    const { BOOTSTRAP_API_KEY: bootstrapKey, DEV_API_KEY: devKey } = settings;
    if (bootstrapKey !== undefined) {
      const passthrough = settings.BOOTSTRAP_API_KEY_PASSTHROUGH;
      const key = { name: "bootstrap", ownerId, text: bootstrapKey, passthrough };
      const created = await createApiKey(transaction, key, hashApiKey);
      // A key that is there keeps what was set since; only what the setting asks for is added.
      if (created === undefined && passthrough)
        await grantPassthrough(transaction, key, hashApiKey);
    }
    if (devKey !== undefined) {
      await replaceDevKey(transaction, { name: "dev", ownerId, text: devKey }, hashApiKey);
    }
    const [present] = await transaction.select({ id: apiKeys.id }).from(apiKeys).limit(1);
    if (present !== undefined) return {};
    const issuedKey = newApiKeyText();
    await createApiKey(transaction, { name: "first", ownerId, text: issuedKey }, hashApiKey);
    return { issuedKey };
  });
}

async function grantPassthrough(
  transaction: Db,
  { text }: NewApiKey,
  hashApiKey: HashApiKey,
): Promise<void> {
  await transaction
    .update(apiKeys)
    .set({ passthrough: true, changeSeq: await nextChange(transaction, "api_keys") })
    .where(and(eq(apiKeys.keyHash, hashApiKey(text)), eq(apiKeys.passthrough, false)));
}

/** The id of the first administrator. Made when there is no user at all; cannot log in until a password is set. */
async function findOrCreateAdmin(transaction: Db): Promise<string> {
  const [present] = await transaction
    .select({ id: users.id })
    .from(users)
    .where(eq(users.role, "admin"))
    .orderBy(users.createdAt)
    .limit(1);
  if (present !== undefined) return present.id;
  const id = `usr_${randomBase62(22)}`;
  await transaction.insert(users).values({ id, username: ADMIN_NAME, role: "admin" });
  return id;
}
