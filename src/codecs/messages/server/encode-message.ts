import type { FinishEvent, FinishReason, RefusalDetails } from "../../../core/chat/chat-event.ts";
import { markSeal } from "../../../core/chat/seal.ts";
import type { Usage } from "../../../core/chat/usage.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { AnswerContext } from "../../codec.ts";
import type { MessagesForm } from "./messages-form.ts";
import { writeToolId } from "./tool-ids.ts";

const WORDS = {
  stop: "end_turn",
  "stop-sequence": "stop_sequence",
  length: "max_tokens",
  "context-full": "model_context_window_exceeded",
  "tool-calls": "tool_use",
  "content-filter": "refusal",
  paused: "pause_turn",
} as const satisfies Record<FinishReason, string>;

const UNEXPLAINED: RefusalDetails = { category: null, explanation: null };

type StopReason = (typeof WORDS)[FinishReason];

/** Maps a reason to the format's word. An answer with a refusal and a natural end is a `refusal`. */
function writeStopReason(reason: FinishReason, refuses: boolean): StopReason {
  return refuses && reason === "stop" ? "refusal" : WORDS[reason];
}

/** Returns a message without its content, with all fields that the format requires. */
export function encodeMessage(
  { requestId, model }: AnswerContext,
  end: JsonObject,
  usage: Usage,
): JsonObject {
  return {
    id: `msg_${requestId}`,
    type: "message",
    role: "assistant",
    model,
    ...end,
    container: null,
    usage: {
      ...encodeUsage(usage),
      cache_creation: null,
      service_tier: "standard",
      inference_geo: null,
    },
  };
}

/** Returns the fields that describe why a message ended; they are null until it ends. */
export function encodeEnd(
  finish: Pick<FinishEvent, "reason" | "stopSequence" | "refusal"> | undefined,
  refuses: boolean,
  { fillsCacheOnly }: MessagesForm,
): JsonObject {
  const reason = finish === undefined ? null : stopReason(finish.reason, refuses, fillsCacheOnly);
  return {
    stop_reason: reason,
    stop_sequence: reason === "stop_sequence" ? (finish?.stopSequence ?? null) : null,
    stop_details:
      reason === "refusal" ? { type: "refusal", ...(finish?.refusal ?? UNEXPLAINED) } : null,
  };
}

function stopReason(
  reason: FinishEvent["reason"],
  refuses: boolean,
  fillsCacheOnly: boolean,
): StopReason {
  return fillsCacheOnly ? "max_tokens" : writeStopReason(reason, refuses);
}

/** Returns the seal for reasoning without a vendor's seal. It proves nothing: clients drop reasoning that has none. */
export function ownSeal(requestId: string): string {
  return markSeal("gateway", requestId);
}

/** Returns a call without its input. Every call is direct: none comes from code that runs on a vendor's servers. */
export function toolUseHead(callId: string, name: string): JsonObject {
  return { type: "tool_use", id: writeToolId(callId), name, caller: { type: "direct" } };
}

/** Returns the `usage` object. This format does not include cached tokens in the input tokens. */
export function encodeUsage(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedTokens = 0, cacheWriteTokens = 0 } = usage;
  const { reasoningTokens } = usage;
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details:
      reasoningTokens === undefined ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  };
}
