import type { UpstreamResponse } from "./call-upstream.ts";
import type { UpstreamRefusal } from "./upstream-refusal.ts";

const MAX_ERROR_BYTES = 64 * 1024;
const ERROR_BODY_TIMEOUT_MS = 5_000;

/** What an engine says in an answer with a status other than success. Reads its body. */
export async function readRefusal(
  response: UpstreamResponse,
  readErrorMessage: (body: string) => string | undefined,
): Promise<UpstreamRefusal> {
  return {
    status: response.status,
    message: readErrorMessage(await readErrorBody(response)),
    retryAfterSeconds: response.retryAfterSeconds,
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
