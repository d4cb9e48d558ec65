import type { UpstreamResponse } from "./call-upstream.ts";
import type { UpstreamRefusal } from "./upstream-refusal.ts";

const MAX_ERROR_BYTES = 64 * 1024;
const ERROR_BODY_TIMEOUT_MS = 5_000;

/** A status of success, but for 206: a part of an answer must not be taken for the whole. */
export function isWholeAnswer({ status }: Pick<UpstreamResponse, "status">): boolean {
  return status >= 200 && status < 300 && status !== 206;
}

/** How the body of a kind of server's refusal is read. */
export interface RefusalReader {
  readonly readErrorMessage: (body: string) => string | undefined;
  /** What a server tells in the body alone and others tell by status and headers. */
  readonly readRefusalBody?: ((body: string) => Partial<UpstreamRefusal>) | undefined;
}

/** What an engine says in an answer with a status other than success. Reads its body. */
export async function readRefusal(
  response: UpstreamResponse,
  { readErrorMessage, readRefusalBody }: RefusalReader,
): Promise<UpstreamRefusal> {
  const body = await readErrorBody(response);
  return {
    status: response.status,
    message: readErrorMessage(body),
    retryAfterSeconds: response.retryAfterSeconds,
    ...readRefusalBody?.(body),
  };
}

/** Empty when the body is too large, too slow or broken: the status says enough. */
async function readErrorBody(response: UpstreamResponse): Promise<string> {
  const timer = setTimeout(response.cancel, ERROR_BODY_TIMEOUT_MS);
  try {
    return await response.text(MAX_ERROR_BYTES);
  } catch {
    return "";
  } finally {
    clearTimeout(timer);
  }
}
