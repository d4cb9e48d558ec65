import { callUpstream, type UpstreamCall } from "./call-upstream.ts";
import type { Upstream } from "./upstream.ts";
import { refusalError } from "./upstream-refusal.ts";

const QUESTION_TIMEOUT_MS = 5_000;
const MAX_REPLY_BYTES = 16 * 1024 * 1024;

/** A short side request to an engine, beside the chat calls. */
export type Question = Pick<UpstreamCall, "path" | "headers" | "body" | "signal">;

/**
 * Returns the parsed reply to a side request; undefined when it is not JSON. Rejects with a `ServiceError`, or with the
 * client's reason for leaving.
 */
export async function askUpstream(upstream: Upstream, question: Question): Promise<unknown> {
  const response = await callUpstream(upstream, {
    ...question,
    stream: false,
    timeoutMs: QUESTION_TIMEOUT_MS,
  });
  if (response.status !== 200) {
    response.cancel();
    const { status, retryAfterSeconds } = response;
    throw refusalError({ status, message: undefined, retryAfterSeconds });
  }
  return parseJson(await response.text(MAX_REPLY_BYTES));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the status of a side request, without retries; undefined when the engine does not answer. */
export async function askStatus(
  upstream: Upstream,
  question: Question,
): Promise<number | undefined> {
  const limits = { ...upstream.limits, retries: 0 };
  try {
    const response = await callUpstream(
      { ...upstream, limits },
      {
        ...question,
        stream: false,
        timeoutMs: QUESTION_TIMEOUT_MS,
      },
    );
    response.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}
