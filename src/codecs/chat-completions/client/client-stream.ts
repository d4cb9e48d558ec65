import type { ChatEvent } from "../../../core/chat-event.ts";
import { ServiceError, toServiceError } from "../../../core/service-error.ts";
import { SseReader } from "../../../lib/http/sse-reader.ts";
import type { StreamReader } from "../../codec.ts";
import { ChunkReader, garbage } from "./chunk-reader.ts";
import { DeltaShortcut } from "./delta-shortcut.ts";

const DONE = "[DONE]";

/** A fresh reader for one streaming answer. */
export function createStreamReader(maxEventBytes: number): StreamReader {
  const chunks = new ChunkReader();
  const { writer } = chunks;
  const shortcut = new DeltaShortcut(writer, maxEventBytes);

  const fail = (error: unknown) => {
    if (!writer.ended) writer.end({ type: "error", error: toServiceError(error) });
  };
  const readChunk = (data: string, name: string | undefined) => {
    const json = parseChunk(data, name);
    if (chunks.read(json)) shortcut.learn(data, json);
  };
  // The figures of usage may come after the finish reason, so the end is written when nothing more can come.
  const finish = () => {
    if (!chunks.isComplete)
      throw new ServiceError("upstream_error", "The engine's answer broke off.");
    chunks.finish();
  };
  const attempt = (step: () => void) => {
    try {
      if (!writer.ended) step();
    } catch (error) {
      fail(error);
    }
  };
  const events = new SseReader(maxEventBytes, {
    onEvent: (data, name) => {
      if (data.trim() === DONE) attempt(finish);
      else if (data.trim() !== "") attempt(() => readChunk(data, name));
    },
    onTooLong: () =>
      fail(new ServiceError("upstream_error", "The engine sent an event that is too long.")),
    shortcut,
  });

  return {
    read(bytes): readonly ChatEvent[] {
      if (!writer.ended) events.read(bytes);
      return writer.take();
    },
    end(): readonly ChatEvent[] {
      if (!writer.ended) events.end();
      attempt(finish);
      return writer.take();
    },
  };
}

/** Some engines give the error's object bare and say by the event's name what it is. */
function parseChunk(data: string, name: string | undefined): unknown {
  try {
    const json: unknown = JSON.parse(data);
    return name === "error" ? { error: json } : json;
  } catch (cause) {
    // The engine's words may be in it, but so may anything else.
    throw garbage(cause);
  }
}
