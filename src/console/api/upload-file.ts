import type { components } from "./schema.d.ts";
import { sendFile } from "./send-file.ts";

type StoredFile = components["schemas"]["File"];

interface UploadOptions {
  readonly signal: AbortSignal;
  /** Called with the bytes that were sent so far. */
  readonly onProgress: (sent: number) => void;
}

/** Uploads a file to `POST /v1/files`. Rejects as `sendFile` does. */
export function uploadFile(file: File, { signal, onProgress }: UploadOptions): Promise<StoredFile> {
  const body = new FormData();
  // The purpose first: a server that reads in order can refuse before the file has come.
  body.append("purpose", "assistants");
  body.append("file", file);
  return sendFile({
    path: "/api/v1/files",
    body,
    signal,
    // The form around the file is sent as well.
    onProgress: (sent) => onProgress(Math.min(sent, file.size)),
  }) as Promise<StoredFile>;
}
