import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../../core/service-error.ts";
import { makeFolder } from "../../lib/folders/make-folder.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { BodyStream } from "./read-body-stream.ts";

/** A body that was written to a temporary file. */
export interface ReceivedFile {
  readonly path: string;
  /** Never rejects. */
  readonly remove: () => Promise<void>;
}

/**
 * Writes a body to a file while it arrives: only a piece of it is in memory. Rejects with the body's errors, and with
 * `storage_unavailable` when the disk takes no more; then no file is left.
 */
export async function receiveFile(body: BodyStream, folder: string): Promise<ReceivedFile> {
  const path = join(folder, `upload-${randomBase62(22)}`);
  const remove = () => rm(path, { force: true }).catch(() => undefined);
  try {
    await onDisk(() => makeFolder(folder));
    const file = await onDisk(() => open(path, "wx", 0o600));
    try {
      for await (const piece of body) await onDisk(() => file.writeFile(piece));
    } finally {
      await file.close();
    }
    return { path, remove };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
}

async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    throw notStored(cause);
  }
}

function notStored(cause: unknown): ServiceError {
  return new ServiceError("storage_unavailable", "The file cannot be stored now.", { cause });
}
