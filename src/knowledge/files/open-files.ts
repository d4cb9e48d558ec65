import { filesFolder } from "../../config/folders.ts";
import type { Part } from "../../core/part.ts";
import type { Base } from "../../db/base.ts";
import type { Db } from "../../db/context.ts";
import { fileJobs } from "./file-jobs.ts";
import type { FileStore } from "./files.ts";
import { refuseOtherFolder } from "./files-folder.ts";
import { createOriginals } from "./originals.ts";

export interface Files extends Part<Db> {
  readonly store: FileStore;
}

/**
 * Opens FILES_DIR. Throws a `StartRefusal` when it is not the folder of the files in the database.
 *
 * @param onFired is called after events were stored.
 */
export async function openFiles(
  { settings, database, clock, log }: Base,
  onFired: () => void,
): Promise<Files> {
  const folder = filesFolder(settings);
  await refuseOtherFolder(database.db, folder);
  const originals = createOriginals(folder);
  const maxBytes = settings.FILE_MAX_BYTES;
  const store = { database, originals, maxBytes, clock, log, onFired };
  return { store, jobs: fileJobs(store) };
}
