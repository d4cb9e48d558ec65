import type { Base } from "../db/base.ts";
import type { Database } from "../db/database.ts";
import { installation } from "../db/tables/installation.ts";
import { inFolderOf, StartRefusal } from "../lib/folders/start-refusal.ts";
import type { Clock } from "../lib/time/clock.ts";
import { openSecret, type Secret } from "./secret.ts";

export interface Installation {
  /** Unix milliseconds of the first start on this database. */
  readonly installedAt: number;
}

export interface Identity extends Installation {
  readonly secret: Secret;
  /** A text that is unique to this installation. */
  readonly installation: string;
}

/** Opens the secret and registers the installation. Throws a `StartRefusal` when one of these fails. */
export async function openIdentity({ settings, database, clock }: Base): Promise<Identity> {
  const known = await readFingerprint(database);
  const secret = await inFolderOf("DATA_DIR", () => openSecret(settings, known));
  const { installedAt } = await openInstallation(database, secret, clock);
  return { secret, installedAt, installation: `${secret.fingerprint} ${installedAt}` };
}

/** Returns the fingerprint of the secret that hashed the database's keys; undefined before the first start. */
export async function readFingerprint({ db }: Pick<Database, "db">): Promise<string | undefined> {
  const [row] = await db.select({ known: installation.secretFingerprint }).from(installation);
  return row?.known;
}

/**
 * Registers the installation at its first start. Refuses a secret that differs from the one that hashed the database's
 * keys, because every key would be unknown.
 */
export async function openInstallation(
  { db }: Pick<Database, "db">,
  secret: Secret,
  clock: Clock,
): Promise<Installation> {
  await db
    .insert(installation)
    .values({ secretFingerprint: secret.fingerprint, installedAt: new Date(clock.now()) })
    .onConflictDoNothing();
  const [row] = await db.select().from(installation);
  if (row?.secretFingerprint !== secret.fingerprint) {
    throw new StartRefusal(
      "The secret differs from the one this database was set up with, so no API key would be known. " +
        "Set APP_SECRET to the same value on every replica, or restore the file `secret` of DATA_DIR.",
    );
  }
  return { installedAt: row.installedAt.getTime() };
}
