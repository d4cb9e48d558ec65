import { ApiError, toApiError } from "../../api/errors.ts";
import type { ChatRequest } from "../../chat/chat-request.ts";
import type { AskedAnswer } from "../../chat/live-chat.ts";

/** Asks a model for a streamed answer. Rejects with {@link ApiError}, or with the signal's reason. */
export async function askModel(request: ChatRequest, signal: AbortSignal): Promise<AskedAnswer> {
  const response = await fetch("/api/v1/chat/completions", {
    ...{ method: "POST", signal, credentials: "same-origin" },
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  }).catch((thrown: unknown) => {
    if (signal.aborted) throw thrown;
    throw new ApiError("The gateway does not answer.", {
      ...{ status: 0, code: "network", param: null, requestId: null, retryAfterSeconds: null },
    });
  });
  if (response.ok && response.body !== null) {
    return { body: response.body, requestId: response.headers.get("x-request-id") };
  }
  throw toApiError(response, await response.json().catch(() => undefined));
}
