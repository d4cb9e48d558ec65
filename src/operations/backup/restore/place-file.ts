import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolder } from "../../../lib/folders/make-folder.ts";
import { syncFolder } from "../../../lib/folders/sync-folder.ts";

/** Writes a file atomically and syncs it, readable only for this user. A file from an earlier restore is replaced. */
export async function placeFile(path: string, content: AsyncIterable<Buffer>): Promise<void> {
  await makeFolder(dirname(path));
  const draft = `${path}.restoring`;
  const file = await open(draft, "w", 0o600);
  try {
    for await (const part of content) await file.writeFile(part);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
  await syncFolder(dirname(path));
}
