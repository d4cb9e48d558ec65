import { ApiError, toApiError } from "./errors.ts";
import type { components } from "./schema.d.ts";

interface UploadOptions {
  readonly signal: AbortSignal;
  /** Called with the bytes that were sent so far. */
  readonly onProgress: (sent: number) => void;
}

/**
 * Uploads a file to `POST /v1/files`. By XMLHttpRequest: `fetch` cannot tell how far it is. Rejects with {@link ApiError},
 * or with the signal's reason.
 */
export function uploadFile(
  file: File,
  { signal, onProgress }: UploadOptions,
): Promise<components["schemas"]["File"]> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    // The purpose first: a server that reads in order can refuse before the file has come.
    form.append("purpose", "assistants");
    form.append("file", file);
    request.open("POST", "/api/v1/files");
    request.upload.addEventListener("progress", ({ loaded }) =>
      onProgress(Math.min(loaded, file.size)),
    );
    request.addEventListener("load", () => {
      const body = parse(request.responseText);
      const { status } = request;
      if (status === 200) return resolve(body as components["schemas"]["File"]);
      reject(toApiError(responseOf(request), body));
    });
    request.addEventListener("error", () => reject(interrupted()));
    request.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    if (signal.aborted) return reject(signal.reason);
    request.send(form);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function responseOf(request: XMLHttpRequest): Response {
  const headers = new Headers();
  for (const name of ["x-request-id", "retry-after"]) {
    const value = request.getResponseHeader(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(null, { status: request.status, headers });
}

function interrupted(): ApiError {
  const text =
    "The upload was interrupted: the connection ended, or the file changed or is a folder.";
  return new ApiError(text, {
    ...{ status: 0, code: "network", param: null, requestId: null, retryAfterSeconds: null },
  });
}
