import type { FinishReason } from "../../../core/chat/chat-event.ts";
import type { ServiceError } from "../../../core/service-error.ts";

/** How an answer ended: complete, or why it is incomplete. */
export type Outcome =
  | { readonly status: "completed" }
  | {
      readonly status: "incomplete";
      readonly reason: "max_output_tokens" | "content_filter";
    };

const COMPLETED: Outcome = { status: "completed" };
const CUT: Outcome = { status: "incomplete", reason: "max_output_tokens" };

const OUTCOMES: Readonly<Record<FinishReason, Outcome>> = {
  stop: COMPLETED,
  "stop-sequence": COMPLETED,
  "tool-calls": COMPLETED,
  paused: COMPLETED,
  length: CUT,
  "context-full": CUT,
  "content-filter": { status: "incomplete", reason: "content_filter" },
};

export function outcomeOf(reason: FinishReason): Outcome {
  return OUTCOMES[reason];
}

/** Returns the format's code for an error that ends an answer in progress. Clients retry on `server_error`. */
export function failureCodeOf({ code, status }: ServiceError): string {
  if (code === "context_length_exceeded") return code;
  if (status === 429) return "rate_limit_exceeded";
  return status === 400 ? "invalid_prompt" : "server_error";
}
