import { ServiceError, toServiceError } from "../../../core/service-error.ts";
import { SseReader } from "../../../lib/http/sse-reader.ts";
import { isJsonObject } from "../../../lib/json/json.ts";
import type { StreamReader } from "../../codec.ts";
import { garbage, ResponseReader } from "./response-reader.ts";

/** Some servers also send the end marker of chat completions, after the format's own last event. */
const DONE = "[DONE]";

/** Creates a reader for one streaming answer. */
export function createStreamReader(maxEventBytes: number): StreamReader {
  const response = new ResponseReader();
  const { writer } = response;

  const attempt = (step: () => void) => {
    if (writer.ended) return;
    try {
      step();
    } catch (error) {
      writer.end({ type: "error", error: toServiceError(error) });
    }
  };
  const fail = (message: string) =>
    attempt(() => {
      throw new ServiceError("upstream_error", message);
    });
  const events = new SseReader(maxEventBytes, {
    onEvent: (data, name) => {
      const text = data.trim();
      if (text !== "" && text !== DONE) attempt(() => readEvent(response, text, name));
    },
    onTooLong: () => fail("The engine sent an event that is too long."),
  });

  return {
    read(bytes) {
      if (!writer.ended) events.read(bytes);
      return writer.take();
    },
    end() {
      if (!writer.ended) events.end();
      fail("The engine's answer broke off.");
      return writer.take();
    },
  };
}

/**
 * Reads one event. Some servers send the type only as the event's name; others send an error as in chat completions.
 */
function readEvent(response: ResponseReader, data: string, name: string | undefined): void {
  const event = parse(data);
  if (!isJsonObject(event)) throw garbage();
  const { type = name, error } = event;
  if (typeof type === "string") response.read(type, event);
  else if (error) response.read("error", event);
  else throw garbage();
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    // The text may hold a message of the engine, but it may also hold anything else.
    throw garbage(cause);
  }
}
