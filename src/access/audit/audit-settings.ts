import { createHmac } from "node:crypto";
import type { Settings } from "../../config/settings.ts";
import type { Base } from "../../db/base.ts";
import { withTransaction } from "../../db/context.ts";
import { installation } from "../../db/tables/installation.ts";
import type { Secret } from "../secret.ts";
import { recordAudit } from "./record-audit.ts";

/** Settings that differ between replicas, or between runs of `dev`. */
const OWN_SETTINGS: ReadonlySet<string> = new Set([
  "HOST",
  "PORT",
  "INSTANCE_ID",
  "DATA_DIR",
  "JOURNAL_DIR",
  "DEV_API_KEY",
] satisfies readonly (keyof Settings)[]);

/** Maps the name of a setting to a keyed hash of its value. */
type Hashes = Readonly<Record<string, string>>;

/**
 * Compares the settings with those of the previous start, and writes the names of changed ones into the audit log. Of
 * replicas that start together only one does so. Only hashes are stored, with a key derived from the installation's
 * secret.
 */
export async function auditSettings(
  { database, settings }: Pick<Base, "database" | "settings">,
  secret: Secret,
): Promise<void> {
  const hashes = hashesOf(settings, secret);
  await withTransaction(database.db, async (transaction) => {
    // A second replica waits here, and then finds no difference.
    const [row] = await transaction
      .select({ hashes: installation.settingHashes })
      .from(installation)
      .for("update");
    const before = row?.hashes ?? null;
    const change = before === null ? undefined : changeBetween(before, hashes);
    if (change !== undefined && Object.values(change).every((names) => names.length === 0)) return;
    await transaction.update(installation).set({ settingHashes: hashes });
    await recordAudit(transaction, null, {
      action: change === undefined ? "settings.first_start" : "settings.change",
      targetKind: "settings",
      targetId: null,
      details: { ...change },
    });
  });
}

function hashesOf(settings: Settings, secret: Secret): Hashes {
  const key = secret.derive("settings");
  return Object.fromEntries(
    Object.entries(settings)
      .filter(([name, value]) => value !== undefined && !OWN_SETTINGS.has(name))
      .map(([name, value]) => {
        const text = JSON.stringify([name, value]);
        return [name, createHmac("sha256", key).update(text).digest("base64url")];
      }),
  );
}

interface SettingsChange {
  readonly changed: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

function changeBetween(before: Hashes, now: Hashes): SettingsChange {
  const names = Object.keys(now).sort();
  return {
    changed: names.filter((name) => name in before && before[name] !== now[name]),
    added: names.filter((name) => !(name in before)),
    removed: Object.keys(before)
      .filter((name) => !(name in now))
      .sort(),
  };
}
