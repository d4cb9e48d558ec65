import { inArray } from "drizzle-orm";
import type { Job } from "../../core/part.ts";
import { files } from "../../db/tables/knowledge.ts";
import { removeUnreferenced } from "./contents.ts";
import { deleteExpiredFiles } from "./delete-files.ts";
import type { FileStore } from "./files.ts";

const EXPIRY_PAUSE_MS = 60_000;
/** A hundred thousand files may expire at one time. */
const EXPIRY_LONGEST_MS = 3 * 3_600_000;
const CLEANUP_PAUSE_MS = 1_800_000;
/** What a stopped or failed upload has left is kept this long: another replica may still be writing it. */
const LEFT_MS = 3_600_000;
const LOOKED_FOR = 500;

/** The jobs that delete expired files, and what has no file. */
export function fileJobs(store: FileStore): readonly Job[] {
  return [
    {
      name: "delete expired files",
      pauseMs: EXPIRY_PAUSE_MS,
      longestMs: EXPIRY_LONGEST_MS,
      run: () => deleteExpiredFiles(store),
    },
    { name: "clean up files", pauseMs: CLEANUP_PAUSE_MS, run: () => cleanUpFiles(store) },
  ];
}

/** Removes unfinished uploads, and contents of which no row is left, once they are an hour old. */
export async function cleanUpFiles(store: FileStore): Promise<void> {
  const { originals, clock } = store;
  const now = clock.now();
  await originals.removeDraftsBefore(now - LEFT_MS, now);
  let batch: string[] = [];
  for await (const sha256 of originals.listBefore(now - LEFT_MS)) {
    batch.push(sha256);
    if (batch.length < LOOKED_FOR) continue;
    await removeOrphans(store, batch);
    batch = [];
  }
  await removeOrphans(store, batch);
}

async function removeOrphans(store: FileStore, contents: readonly string[]): Promise<void> {
  if (contents.length === 0) return;
  const rows = await store.database.db
    .selectDistinct({ sha256: files.sha256 })
    .from(files)
    .where(inArray(files.sha256, [...contents]));
  const known = new Set(rows.map(({ sha256 }) => sha256));
  for (const sha256 of contents) {
    if (!known.has(sha256)) await removeUnreferenced(store, sha256);
  }
}
