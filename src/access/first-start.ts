import { verify } from "@node-rs/argon2";
import { and, desc, eq, isNull, notExists, sql } from "drizzle-orm";
import type { Base } from "../db/base.ts";
import { type Db, withTransaction } from "../db/context.ts";
import { ADVISORY_LOCK } from "../db/locks/advisory-locks.ts";
import { apiKeys } from "../db/tables/api-keys.ts";
import { identities, users } from "../db/tables/users.ts";
import { randomBase62 } from "../lib/id.ts";
import { recordAudit } from "./audit/record-audit.ts";
import type { HashCredential } from "./hash-credential.ts";
import { newApiKeyText, provideApiKey } from "./keys/create-api-key.ts";
import { createBootstrapKey } from "./keys/create-bootstrap-key.ts";
import { replaceDevKey } from "./keys/replace-dev-key.ts";
import { hashPassword } from "./sessions/passwords/hash-password.ts";
import { newPassword } from "./sessions/passwords/new-password.ts";

const ADMIN_NAME = "admin";

/** Secrets that a start has generated, to be shown once. */
export interface FirstSecrets {
  readonly issuedKey?: string;
  readonly adminPassword?: string;
}

/**
 * Ensures that there is an administrator who can log in and a key, and that the keys of the settings work. Every start
 * runs it. All but the first find the work done, and of several replicas only one does it.
 */
export function firstStart(
  { database, settings, log }: Pick<Base, "database" | "settings" | "log">,
  hashApiKey: HashCredential,
): Promise<FirstSecrets> {
  return withTransaction(database.db, async (transaction) => {
    await transaction.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.firstStart})`);
    const ownerId = await findOrCreateAdmin(transaction);
    const secrets = await givePassword(transaction, ownerId, settings.ADMIN_PASSWORD);
    if (!(await holdsPassword(transaction, ownerId, settings.ADMIN_PASSWORD))) {
      log.warn(
        "ADMIN_PASSWORD is ignored: it sets the administrator's password at the first start only. Change the password " +
          "with POST /api/auth/password, or remove the setting",
      );
    }
    const { BOOTSTRAP_API_KEY: bootstrapKey, DEV_API_KEY: devKey } = settings;
    if (bootstrapKey !== undefined) {
      const passthrough = settings.BOOTSTRAP_API_KEY_PASSTHROUGH;
      const key = { name: "bootstrap", ownerId, text: bootstrapKey, passthrough };
      if (!(await createBootstrapKey(transaction, key, hashApiKey))) {
        log.warn(
          "BOOTSTRAP_API_KEY is ignored: that key was deleted or replaced. Set a new secret, or remove the setting",
        );
      }
    }
    if (devKey !== undefined) {
      await replaceDevKey(transaction, { name: "dev", ownerId, text: devKey }, hashApiKey);
    }
    const [present] = await transaction.select({ id: apiKeys.id }).from(apiKeys).limit(1);
    if (present !== undefined) return secrets;
    const issuedKey = newApiKeyText();
    await provideApiKey(transaction, { name: "first", ownerId, text: issuedKey }, hashApiKey);
    return { ...secrets, issuedKey };
  });
}

/**
 * Returns the id of the first administrator, preferring those whose keys work. Creates an administrator when there are
 * no administrators.
 */
async function findOrCreateAdmin(transaction: Db): Promise<string> {
  const [present] = await transaction
    .select({ id: users.id })
    .from(users)
    .where(eq(users.role, "admin"))
    .orderBy(desc(eq(users.state, "active")), users.createdAt)
    .limit(1);
  if (present !== undefined) return present.id;
  const id = `usr_${randomBase62(22)}`;
  const admin = { username: ADMIN_NAME, role: "admin" } as const;
  await transaction.insert(users).values({ id, ...admin });
  await recordAudit(transaction, null, {
    action: "user.create",
    targetKind: "user",
    targetId: id,
    details: admin,
  });
  return id;
}

/** Returns true when the administrator has the password of the setting, or the setting has no password. */
async function holdsPassword(
  transaction: Db,
  id: string,
  given: string | undefined,
): Promise<boolean> {
  if (given === undefined) return true;
  const [admin] = await transaction.select().from(users).where(eq(users.id, id));
  return admin?.passwordHash != null && (await verify(admin.passwordHash, given));
}

/**
 * Sets the password of the user `admin` if it is the first administrator, has no password, and is not linked to an account of
 * a provider: a person who logs in there must not get a second way in. A given password is valid as it is; a generated one
 * must be changed.
 */
async function givePassword(
  transaction: Db,
  id: string,
  given: string | undefined,
): Promise<FirstSecrets> {
  const bound = transaction.select().from(identities).where(eq(identities.userId, id));
  const isWithout = and(
    eq(users.id, id),
    eq(users.username, ADMIN_NAME),
    isNull(users.passwordHash),
    notExists(bound),
  );
  const [admin] = await transaction.select({ id: users.id }).from(users).where(isWithout);
  if (admin === undefined) return {};
  const password = given ?? newPassword();
  await transaction
    .update(users)
    .set({
      passwordHash: await hashPassword(password),
      mustChangePassword: given === undefined,
    })
    .where(isWithout);
  await recordAudit(transaction, null, {
    action: "user.update",
    targetKind: "user",
    targetId: id,
    details: { changed: ["password"] },
  });
  return given === undefined ? { adminPassword: password } : {};
}
