import type { UpstreamRefusal } from "./upstream-refusal.ts";
import type { UpstreamResponse } from "./upstream-response.ts";

const MAX_ERROR_BYTES = 64 * 1024;
const ERROR_BODY_TIMEOUT_MS = 5_000;

/** Returns true for a status of success except 206: a partial answer must not be taken for the whole. */
export function isWholeAnswer({ status }: Pick<UpstreamResponse, "status">): boolean {
  return status >= 200 && status < 300 && status !== 206;
}

/** Reads the refusal bodies of one kind of server. */
export interface RefusalReader {
  readonly readErrorMessage: (body: string) => string | undefined;
  /** Reads facts that this server reports only in the body and others by status and headers. */
  readonly readRefusalBody?: ((body: string) => Partial<UpstreamRefusal>) | undefined;
}

/** Reads the body of a response with a status other than success. */
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

/** Returns an empty text when the body is too large, too slow or broken; the status is enough then. */
async function readErrorBody(response: UpstreamResponse): Promise<string> {
  const timer = setTimeout(() => response.cancel(), ERROR_BODY_TIMEOUT_MS);
  try {
    return await response.text(MAX_ERROR_BYTES);
  } catch {
    return "";
  } finally {
    clearTimeout(timer);
  }
}
