/** A runtime reads this much of an unread body, so that the connection can be reused. */
const SKIPPED_BYTES = 64 * 1024;

const brokenOff = new WeakSet<Request>();

/** Notes that the rest of a body is not read, although its beginning was. */
export function noteBodyBrokenOff(request: Request): void {
  brokenOff.add(request);
}

/**
 * Returns true when the request was answered without reading all of its body, and the body is too long to skip or has no
 * length.
 */
export function leavesBodyUnread(request: Request): boolean {
  return (!request.bodyUsed || brokenOff.has(request)) && hasLongBody(request.headers);
}

/** Returns true for a body that is too long to skip or whose length is not known. */
export function hasLongBody(headers: Headers): boolean {
  return (
    Number(headers.get("content-length") ?? 0) > SKIPPED_BYTES || headers.has("transfer-encoding")
  );
}
