import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { between, desc, max, min } from "drizzle-orm";
import { type Db, withTransaction } from "../db/context.ts";
import type { Database } from "../db/database.ts";
import { auditLog } from "../db/tables/audit-log.ts";
import { installation } from "../db/tables/installation.ts";
import { usageRecords } from "../db/tables/usage.ts";
import { users } from "../db/tables/users.ts";
import { makeFolder } from "../lib/folders/make-folder.ts";
import type { Log } from "../lib/log.ts";
import type { SeenTimeSeal, StoredTime } from "./seen-time.ts";

/** Stores the known time twice, in the database and under DATA_DIR, so that losing one copy loses nothing. */
export interface SeenTimeStore {
  /** Reads the intact stored time, else derives it from the data; undefined at a first start. Never rejects. */
  readonly read: () => Promise<StoredTime | undefined>;
  /** Stores the time, unless a later one is stored there, and returns everything known now. Never rejects. */
  readonly keep: (time: StoredTime) => Promise<StoredTime>;
}

export interface SeenTimeStoreOptions {
  readonly database: Pick<Database, "askOwn">;
  readonly seal: SeenTimeSeal;
  /** DATA_DIR. */
  readonly folder: string;
  /** The folder of all journals. */
  readonly journals: string;
  readonly log: Log;
}

const FILE_NAME = "seen-time";
/**
 * A call up to this long after the latest time may have come after it was stored; later ones come from a clock that was
 * wrong.
 */
const USAGE_AHEAD_MAX_MS = 300_000;

export function createSeenTimeStore(options: SeenTimeStoreOptions): SeenTimeStore {
  const { database, seal, folder, journals, log } = options;
  const path = join(folder, FILE_NAME);

  const readFromFile = async (): Promise<StoredTime | undefined> => {
    const text = await readFile(path, "utf8").catch(() => undefined);
    const time = text === undefined ? undefined : seal.open(text);
    if (text !== undefined && time === undefined) {
      log.warn(
        { file: path },
        "the stored latest time was changed outside the gateway and is ignored",
      );
    }
    return time;
  };
  const readFromRow = async (db: Db, lock = false): Promise<StoredTime | undefined> => {
    const query = db.select().from(installation);
    const [row] = await (lock ? query.for("update") : query);
    if (row?.latestSeenAt == null) return undefined;
    const time = seal.open(row.latestSeenSeal ?? "");
    if (
      time?.latestAt === row.latestSeenAt.getTime() &&
      time.installedAt === row.installedAt.getTime()
    ) {
      return time;
    }
    log.warn("the latest time in the database was changed outside the gateway and is ignored");
    return undefined;
  };
  const writeToRow = (time: StoredTime): Promise<StoredTime> =>
    database.askOwn((db) =>
      withTransaction(db, async (transaction) => {
        const stored = merge(time, await readFromRow(transaction, true));
        const latestAt = await newestUsage(transaction, stored.latestAt);
        const known = { ...stored, latestAt };
        await transaction.update(installation).set({
          installedAt: new Date(known.installedAt),
          latestSeenAt: new Date(latestAt),
          latestSeenSeal: seal.close(known),
        });
        return known;
      }),
    );
  const writeToFile = async (time: StoredTime): Promise<void> => {
    const draft = `${path}.${process.pid}.draft`;
    await makeFolder(folder);
    await writeFile(draft, seal.close(time), { mode: 0o600 });
    await rename(draft, path);
  };
  /** A failure is logged, and the next look tries again; until then the other copy serves. */
  const tolerate = async <Result>(work: Promise<Result>, otherwise: Result): Promise<Result> => {
    try {
      return await work;
    } catch (thrown) {
      const cause = thrown instanceof Error ? thrown.message : String(thrown);
      log.warn(
        { cause },
        "the latest time could not be stored in both places; this will be retried",
      );
      return otherwise;
    }
  };

  return {
    async read() {
      const fromRow = await tolerate(
        database.askOwn((db) => readFromRow(db)),
        undefined,
      );
      const fromFile = await readFromFile();
      const kept = fromRow === undefined ? fromFile : merge(fromRow, fromFile);
      // Removing both copies must not gain any time.
      return (
        kept ??
        tolerate(
          database.askOwn((db) => readEvidence(db, journals)),
          undefined,
        )
      );
    },
    async keep(time) {
      const known = merge(time, await readFromFile());
      const all = await tolerate(writeToRow(known), known);
      await tolerate(writeToFile(all), undefined);
      return all;
    },
  };
}

/** Merges two records: the earlier beginning and the later times. */
function merge(time: StoredTime, other: StoredTime | undefined): StoredTime {
  if (other === undefined) return time;
  return {
    installedAt: Math.min(time.installedAt, other.installedAt),
    provenAt: Math.max(time.provenAt, other.provenAt),
    latestAt: Math.max(time.latestAt, other.latestAt),
  };
}

/** Returns the time of the newest credible call, or the given time. */
async function newestUsage(db: Db, latestAt: number): Promise<number> {
  const [row] = await db
    .select({ startedAt: max(usageRecords.startedAt) })
    .from(usageRecords)
    .where(
      // Older calls add nothing, so only one day is read.
      between(usageRecords.startedAt, new Date(latestAt), new Date(latestAt + USAGE_AHEAD_MAX_MS)),
    );
  return Math.max(latestAt, row?.startedAt?.getTime() ?? latestAt);
}

/**
 * Derives the time of an installation in use when nothing stored is left. It began with its oldest user; the latest
 * time is that of its newest call, audit entry or journal. Undefined at a first start, which has no users.
 * @param journals the folder of all journals.
 */
async function readEvidence(db: Db, journals: string): Promise<StoredTime | undefined> {
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

/** Returns when a file of the journals was last written, in Unix milliseconds; 0 without any. */
async function newestJournal(folder: string): Promise<number> {
  let newest = 0;
  for (const name of await readdir(folder, { recursive: true }).catch(() => [])) {
    const status = await stat(join(folder, name)).catch(() => undefined);
    if (status?.isFile() === true) newest = Math.max(newest, Math.floor(status.mtimeMs));
  }
  return newest;
}
