import type { FinishEvent, Usage } from "../../../core/chat-event.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { AnswerContext } from "../../codec.ts";
import { encodeUsage } from "./encode-usage.ts";
import type { MessagesForm } from "./messages-form.ts";
import { type StopReason, writeStopReason } from "./write-stop-reason.ts";

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
