/** A runtime reads this much of a body that nobody wanted, so that the connection can be used again. */
const SKIPPED_BYTES = 64 * 1024;

/** True when the request was answered without reading its body, and the body is too long, or without a length, to skip. */
export function leavesBodyUnread(request: Request): boolean {
  return !request.bodyUsed && hasLongBody(request.headers);
}

/** True for a body that is longer than some text, or whose length is not known. */
export function hasLongBody(headers: Headers): boolean {
  return (
    Number(headers.get("content-length") ?? 0) > SKIPPED_BYTES || headers.has("transfer-encoding")
  );
}
