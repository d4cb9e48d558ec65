import { type FileHandle, open } from "node:fs/promises";

const PIECE_BYTES = 64 * 1024;

export interface FileAnswer {
  readonly path: string;
  readonly bytes: number;
  readonly filename: string;
}

/**
 * Answers with a file as a download, read as fast as the client takes it. No browser shows it as a page: it may be
 * anything that somebody uploaded.
 */
export function fileResponse({ path, bytes, filename }: FileAnswer): Response {
  return new Response(readPieces(path), {
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(bytes),
      "content-disposition": attachment(filename),
      "x-content-type-options": "nosniff",
      "cache-control": "private, no-store",
    },
  });
}

/** Opens the file with the first read: the answer to a HEAD is never read. */
function readPieces(path: string): ReadableStream<Uint8Array> {
  let file: FileHandle | undefined;
  let isCancelled = false;
  const close = () => file?.close().catch(() => undefined);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        file ??= await open(path);
        const { bytesRead, buffer } = await file.read(new Uint8Array(PIECE_BYTES));
        if (bytesRead > 0 && !isCancelled) controller.enqueue(buffer.subarray(0, bytesRead));
        if (bytesRead > 0 && !isCancelled) return;
        await close();
        if (!isCancelled) controller.close();
      },
      cancel() {
        isCancelled = true;
        return close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Names the file twice, as RFC 6266 has it: in ASCII for old clients, and in UTF-8. */
function attachment(filename: string): string {
  const ascii = filename.replaceAll(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
