import type { FinishEvent, FinishReason, Usage } from "../../../core/chat-event.ts";
import { markSeal } from "../../../core/seal.ts";
import type { JsonObject } from "../../../lib/json.ts";
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

type StopReason = (typeof WORDS)[FinishReason];

/** The format's word for a reason. An answer that refuses and ends naturally ends for the refusal. */
function writeStopReason(reason: FinishReason, refuses: boolean): StopReason {
  return refuses && reason === "stop" ? "refusal" : WORDS[reason];
}

/** A message without its content, with all fields that the format demands. */
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

/** Why a message ends; null while it goes on. */
export function encodeEnd(
  finish: Pick<FinishEvent, "reason" | "stopSequence"> | undefined,
  refuses: boolean,
  { fillsCacheOnly }: MessagesForm,
): JsonObject {
  const reason = finish === undefined ? null : stopReason(finish.reason, refuses, fillsCacheOnly);
  return {
    stop_reason: reason,
    stop_sequence: reason === "stop_sequence" ? (finish?.stopSequence ?? null) : null,
    stop_details:
      reason === "refusal" ? { type: "refusal", category: null, explanation: null } : null,
  };
}

function stopReason(
  reason: FinishEvent["reason"],
  refuses: boolean,
  fillsCacheOnly: boolean,
): StopReason {
  return fillsCacheOnly ? "max_tokens" : writeStopReason(reason, refuses);
}

/** The seal on thoughts that no vendor sealed. It seals nothing: clients drop thoughts that have none. */
export function ownSeal(requestId: string): string {
  return markSeal("gateway", requestId);
}

/** A call without its input. Every call is the model's own: none comes from code that a vendor's servers run. */
export function toolUseHead(callId: string, name: string): JsonObject {
  return { type: "tool_use", id: writeToolId(callId), name, caller: { type: "direct" } };
}

/** The `usage` object. This format counts cached tokens beside the input, not in it. */
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
