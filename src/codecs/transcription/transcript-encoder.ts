import type { ChatEvent, DeltaEvent } from "../../core/chat/chat-event.ts";
import type { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { StreamEncoder } from "../codec.ts";

/**
 * Creates an encoder that writes a transcript as OpenAI's events. An error ends the stream as an event with `error`.
 */
export function createTranscriptEncoder(
  encodeError: (error: ServiceError) => JsonObject,
): StreamEncoder {
  let text = "";
  let ended = false;
  const encodeEvent = (event: ChatEvent): string => {
    switch (event.type) {
      case "text-delta":
        text += event.text;
        return frame(deltaEvent(event));
      case "finish":
        ended = true;
        return frame({ type: "transcript.text.done", text, ...event.extra });
      case "error":
        if (ended) return "";
        ended = true;
        return frame(encodeError(event.error));
      default:
        return "";
    }
  };
  return {
    encode(events) {
      let frames = "";
      for (const event of events) frames += encodeEvent(event);
      return frames;
    },
  };
}

/** Returns the event of a delta. An event of another type was read as an empty delta with its type in the extras. */
function deltaEvent({ text, extra }: DeltaEvent): JsonObject {
  if (text === "" && extra?.["type"] !== undefined) return extra;
  return { type: "transcript.text.delta", delta: text, ...extra };
}

function frame(event: JsonObject): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
