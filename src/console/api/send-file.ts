import { ApiError, toApiError } from "./errors.ts";

interface FileToSend {
  /** With its query. */
  readonly path: string;
  /** The media type that says how the file is read; a form brings its own. */
  readonly type?: string;
  readonly body: Blob | FormData;
  /** Called with the bytes that were sent so far. */
  readonly onProgress: (sent: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Sends a file in the body of a POST, by XMLHttpRequest: `fetch` cannot tell how far it is. Resolves with the answer.
 * Rejects with {@link ApiError}, or with the signal's reason.
 */
export function sendFile({
  path,
  type,
  body: sent,
  onProgress,
  signal,
}: FileToSend): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    if (type !== undefined) request.setRequestHeader("Content-Type", type);
    request.upload.addEventListener("progress", ({ loaded }) => onProgress(loaded));
    request.addEventListener("load", () => {
      const body = parse(request.responseText);
      if (request.status >= 200 && request.status < 300) resolve(body);
      else reject(toApiError(responseOf(request), body));
    });
    request.addEventListener("error", () => reject(interrupted()));
    request.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    if (signal.aborted) reject(signal.reason);
    else request.send(sent);
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
