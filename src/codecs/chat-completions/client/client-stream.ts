import type { ChatEvent } from "../../../core/chat/chat-event.ts";
import { ServiceError, toServiceError } from "../../../core/service-error.ts";
import { SseReader } from "../../../lib/http/sse-reader.ts";
import type { StreamReader } from "../../codec.ts";
import { ChunkReader, garbage } from "./chunk-reader.ts";
import { DeltaShortcut } from "./delta-shortcut.ts";

const DONE = "[DONE]";

/** Creates a reader for one streaming answer. */
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
  // Usage may follow the finish reason, so the end is written when no more chunks can come.
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

/** Parses a chunk. Some engines send the error object unwrapped, in an event named `error`. */
function parseChunk(data: string, name: string | undefined): unknown {
  try {
    const json: unknown = JSON.parse(data);
    return name === "error" ? { error: json } : json;
  } catch (cause) {
    // The text may hold a message of the engine, but it may also hold anything else.
    throw garbage(cause);
  }
}
