/** A runtime reads this much of a body that nobody wanted, so that the connection can be used again. */
const SKIPPED_BYTES = 64 * 1024;

/** True when the request was answered without reading its body, and the body is too long, or without a length, to skip. */
export function leavesBodyUnread(request: Request): boolean {
  if (request.bodyUsed) return false;
  const { headers } = request;
  return (
    Number(headers.get("content-length") ?? 0) > SKIPPED_BYTES || headers.has("transfer-encoding")
  );
}
