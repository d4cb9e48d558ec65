import { stat } from "node:fs/promises";
import { and, asc, desc, eq, gt, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Database } from "../../db/database.ts";
import { files } from "../../db/tables/knowledge.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { UploadedFileFacts } from "../../queue/subscriptions.ts";
import { mayUse, visibleTo } from "../rights.ts";
import type { Originals } from "./originals.ts";
import { inFilesDir } from "./store-failure.ts";

/** A file: its row. */
export type StoredFile = typeof files.$inferSelect;

/** What the verbs of files work on. */
export interface FileStore {
  readonly database: Database;
  readonly originals: Originals;
  /** FILE_MAX_BYTES. */
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after events were stored. */
  readonly onFired: () => void;
}

export interface FileQuery {
  readonly purpose?: string | undefined;
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** The id of the file before the page. */
  readonly after?: string | undefined;
}

/** Lists the files that the caller may use. Rejects with `invalid_value` when `after` is none of them. */
export async function listFiles(
  { database, clock }: Pick<FileStore, "database" | "clock">,
  caller: Caller,
  { purpose, limit, order, after }: FileQuery,
): Promise<{ readonly files: readonly StoredFile[]; readonly hasMore: boolean }> {
  const { createdAt, id } = files;
  const isListed = and(
    isCurrent(clock),
    visibleTo(files, caller),
    purpose === undefined ? undefined : eq(files.purpose, purpose),
  );
  const direction = order === "asc" ? asc : desc;
  const found = await database.ask(async (db) => {
    let place: SQL | undefined;
    if (after !== undefined) {
      const [last] = await db
        .select()
        .from(files)
        .where(and(eq(id, after), visibleTo(files, caller)));
      if (last === undefined) throw unknownPlace();
      const sign = order === "asc" ? sql`>` : sql`<`;
      place = sql`(${createdAt}, ${id}) ${sign} (${last.createdAt.toISOString()}::timestamptz, ${last.id})`;
    }
    return db
      .select()
      .from(files)
      .where(and(isListed, place))
      .orderBy(direction(createdAt), direction(id))
      .limit(limit + 1);
  });
  return { files: found.slice(0, limit), hasMore: found.length > limit };
}

/** Rejects with `not_found`, also for a file that the caller may not use. */
export async function findFile(
  { database, clock }: Pick<FileStore, "database" | "clock">,
  caller: Caller,
  id: string,
): Promise<StoredFile> {
  const [file] = await database.ask((db) =>
    db
      .select()
      .from(files)
      .where(and(eq(files.id, id), isCurrent(clock))),
  );
  if (file === undefined || !mayUse(file, caller)) throw noSuchFile();
  return file;
}

/** Returns the path of a file's content. Rejects with `storage_unavailable` when it is missing or not whole. */
export async function findOriginal(
  { originals }: Pick<FileStore, "originals">,
  { sha256, bytes }: Pick<StoredFile, "sha256" | "bytes">,
): Promise<string> {
  const path = originals.pathOf(sha256);
  const { size } = await inFilesDir(() => stat(path));
  if (size === bytes) return path;
  throw new ServiceError(
    "storage_unavailable",
    "The content of this file is missing or damaged in FILES_DIR. Ask the operator to restore it from a backup, or delete the file and upload it again.",
  );
}

export function noSuchFile(): ServiceError {
  return new ServiceError("not_found", "There is no file of this id; see GET /v1/files.");
}

/** What events say about an uploaded file. */
export function factsOf(file: StoredFile): UploadedFileFacts {
  const { id, filename, bytes, sha256, ownerId } = file;
  return {
    file_id: id,
    path: filename,
    name: filename,
    size: bytes,
    sha256,
    owner_id: ownerId,
    source: "upload",
  };
}

/** An expired file no longer exists for callers; the job that deletes it may run later. */
function isCurrent(clock: Clock): SQL | undefined {
  return or(isNull(files.expiresAt), gt(files.expiresAt, new Date(clock.now())));
}

function unknownPlace(): ServiceError {
  return new ServiceError(
    "invalid_value",
    "Invalid 'after': expected the id of a file that the list has.",
    { param: "after" },
  );
}
