import type { ChatEvent, DeltaEvent } from "../../core/chat-event.ts";
import type { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { StreamEncoder } from "../codec.ts";

/** Writes a transcript as OpenAI's events. The error that ends a stream is an event with `error`. */
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

/** An event of another type came as an empty piece of text, with its own type among its fields. */
function deltaEvent({ text, extra }: DeltaEvent): JsonObject {
  if (text === "" && extra?.["type"] !== undefined) return extra;
  return { type: "transcript.text.delta", delta: text, ...extra };
}

function frame(event: JsonObject): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
