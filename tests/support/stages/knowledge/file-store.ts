import { join } from "node:path";
import type { Database } from "../../../../src/db/database.ts";
import { createFile, type NewFile } from "../../../../src/knowledge/files/create-file.ts";
import type { FileStore, StoredFile } from "../../../../src/knowledge/files/files.ts";
import { createOriginals } from "../../../../src/knowledge/files/originals.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { type Clock, systemClock } from "../../../../src/lib/time/clock.ts";

/** The verbs of files on a database, with their contents in a folder. */
export function createFileStore(
  database: Database,
  dataFolder: string,
  clock: Clock = systemClock,
): FileStore {
  return {
    database,
    originals: createOriginals(join(dataFolder, "files")),
    maxBytes: 10_000_000,
    clock,
    log: createLog("error"),
    onFired: () => undefined,
  };
}

/** Adds a file as an upload does. */
export async function addFile(
  store: FileStore,
  content: string | Uint8Array,
  fields: Partial<NewFile> = {},
): Promise<StoredFile> {
  const draft = await store.originals.begin();
  try {
    await draft.write(Buffer.from(content as string));
    const made = { draft, content: await draft.finish() };
    return await createFile(store, made, {
      filename: "a.txt",
      purpose: "assistants",
      ownerId: "usr_1",
      visibility: "private",
      ...fields,
    });
  } finally {
    await draft.discard();
  }
}
