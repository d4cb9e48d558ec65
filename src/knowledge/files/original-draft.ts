import { createHash } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolder } from "../../lib/folders/make-folder.ts";
import { syncFolder } from "../../lib/folders/sync-folder.ts";

/** Smaller pieces are joined up to this size: a system call for each byte would take longer than its way through the network. */
const BUFFER_BYTES = 64 * 1024;

/** What a file's content is. */
export interface Content {
  readonly bytes: number;
  /** In lower-case hexadecimal digits. */
  readonly sha256: string;
}

/** A content that is being written, under a temporary name. */
export interface OriginalDraft {
  /** Where it is until it is moved or discarded. */
  readonly path: string;
  /** Resolves when the bytes were taken; they may be reused then. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** Brings the content to the disk. */
  readonly finish: () => Promise<Content>;
  /** Gives the finished content its place, where an equal one is replaced. */
  readonly moveTo: (path: string) => Promise<void>;
  /** Removes what was not moved. Never rejects. */
  readonly discard: () => Promise<void>;
}

export interface DraftOptions {
  /** The temporary name, in an existing folder. */
  readonly path: string;
  /** FILES_DIR. */
  readonly root: string;
  /** Called when it was discarded. */
  readonly onEnd: () => void;
}

/** Creates the temporary file, which only this user can read. */
export async function createDraft({ path, root, onEnd }: DraftOptions): Promise<OriginalDraft> {
  const file = await open(path, "wx", 0o600);
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let used = 0;
  let bytes = 0;
  let handle: FileHandle | undefined = file;
  const flush = async () => {
    const length = used;
    used = 0;
    if (length > 0) await file.writeFile(buffer.subarray(0, length));
  };
  const close = async () => {
    const opened = handle;
    handle = undefined;
    await opened?.close();
  };
  return {
    path,
    async write(piece) {
      hash.update(piece);
      bytes += piece.byteLength;
      if (used + piece.byteLength > BUFFER_BYTES) await flush();
      if (piece.byteLength > BUFFER_BYTES) {
        await file.writeFile(piece);
        return;
      }
      buffer.set(piece, used);
      used += piece.byteLength;
    },
    async finish() {
      await flush();
      await file.sync();
      await close();
      return { bytes, sha256: hash.digest("hex") };
    },
    async moveTo(place) {
      await makeFolder(dirname(place));
      await rename(path, place);
      // Both levels of folders may be new.
      for (const folder of [dirname(place), dirname(dirname(place)), root]) {
        await syncFolder(folder);
      }
    },
    async discard() {
      await close().catch(() => undefined);
      await rm(path, { force: true }).catch(() => undefined);
      onEnd();
    },
  };
}
