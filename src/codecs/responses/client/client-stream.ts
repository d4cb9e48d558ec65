import { ServiceError, toServiceError } from "../../../core/service-error.ts";
import { SseReader } from "../../../lib/http/sse-reader.ts";
import { isJsonObject } from "../../../lib/json.ts";
import type { StreamReader } from "../../codec.ts";
import { garbage, ResponseReader } from "./response-reader.ts";

/** Some servers end the stream as that of chat completions ends; the format's own end came before. */
const DONE = "[DONE]";

/** A fresh reader for one streaming answer. */
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

/** Some servers give the event's name alone, others an error as chat completions do. */
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
    // The engine's words may be in it, but so may anything else.
    throw garbage(cause);
  }
}
