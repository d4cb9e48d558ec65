import { ServiceError } from "../core/service-error.ts";
import { callUpstream, type UpstreamCall } from "./call-upstream.ts";
import type { Upstream } from "./upstream.ts";
import { refusalError } from "./upstream-refusal.ts";

const QUESTION_TIMEOUT_MS = 5_000;
const MAX_REPLY_BYTES = 16 * 1024 * 1024;

/** A short question to an engine, on the side of the chat calls. */
export type Question = Pick<UpstreamCall, "path" | "body" | "signal">;

/** The JSON an engine answers to a question. Rejects with a `ServiceError`, or with the client's reason for leaving. */
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
  const text = await response.text(MAX_REPLY_BYTES);
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new ServiceError(
      "upstream_error",
      "The model server answered something that is not JSON.",
      { cause: thrown },
    );
  }
}

/** The status an engine answers to a question; undefined when it does not answer. */
export async function askStatus(
  upstream: Upstream,
  question: Question,
): Promise<number | undefined> {
  try {
    const response = await callUpstream(upstream, {
      ...question,
      stream: false,
      timeoutMs: QUESTION_TIMEOUT_MS,
    });
    response.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}
