import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { desc, max, min } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { auditLog } from "../db/tables/audit-log.ts";
import { usageRecords } from "../db/tables/usage.ts";
import { users } from "../db/tables/users.ts";
import type { StoredTime } from "./seen-time-seal.ts";

/**
 * What an installation in use tells of the time when nothing that was kept of it is there any more: it began with its
 * oldest user, and its newest call, entry of the audit log or journal is the latest time it has seen. Undefined at a first
 * start, which has no users.
 *
 * @param journals the folder of all journals.
 */
export async function readEvidence(db: Db, journals: string): Promise<StoredTime | undefined> {
  const [user] = await db.select({ oldest: min(users.createdAt) }).from(users);
  if (user?.oldest == null) return undefined;
  const installedAt = user.oldest.getTime();
  const [entry] = await db.select({ newest: max(auditLog.at) }).from(auditLog);
  const [call] = await db
    .select({ startedAt: usageRecords.startedAt })
    .from(usageRecords)
    .orderBy(desc(usageRecords.startedAt))
    .limit(1);
  const latestAt = Math.max(
    installedAt,
    entry?.newest?.getTime() ?? 0,
    call?.startedAt.getTime() ?? 0,
    await newestJournal(journals),
  );
  return { installedAt, provenAt: installedAt, latestAt };
}

/** When a file of the journals was last written, in Unix milliseconds; 0 where there is none. */
async function newestJournal(folder: string): Promise<number> {
  let newest = 0;
  for (const name of await readdir(folder, { recursive: true }).catch(() => [])) {
    const status = await stat(join(folder, name)).catch(() => undefined);
    if (status?.isFile() === true) newest = Math.max(newest, Math.floor(status.mtimeMs));
  }
  return newest;
}
