import type { ChatEvent } from "../../core/chat/chat-event.ts";
import { ServiceError, toServiceError } from "../../core/service-error.ts";
import { SseReader, type SseShortcut } from "../../lib/http/sse-reader.ts";
import type { StreamReader } from "../codec.ts";
import type { EventWriter } from "./event-writer.ts";

/** Reads the events of one answer. It throws a `ServiceError` for anything that makes the answer fail. */
export interface SseAnswer {
  readonly writer: EventWriter;
  /** Reads the data of one event, which is never blank. */
  readonly readEvent: (data: string) => void;
  /** Writes the end of the answer after the last event, or throws when the answer is incomplete. */
  readonly finish: () => void;
  readonly shortcut?: SseShortcut | undefined;
}

/** Creates a reader for an answer in server-sent events. */
export function createSseStreamReader(maxEventBytes: number, answer: SseAnswer): StreamReader {
  const { writer } = answer;
  const fail = (error: unknown) => {
    if (!writer.ended) writer.end({ type: "error", error: toServiceError(error) });
  };
  const attempt = (step: () => void) => {
    try {
      if (!writer.ended) step();
    } catch (error) {
      fail(error);
    }
  };
  const events = new SseReader(maxEventBytes, {
    onEvent: (data) => {
      if (data.trim() !== "") attempt(() => answer.readEvent(data));
    },
    onTooLong: () =>
      fail(new ServiceError("upstream_error", "The engine sent an event that is too long.")),
    shortcut: answer.shortcut,
  });
  return {
    read(bytes): readonly ChatEvent[] {
      if (!writer.ended) events.read(bytes);
      return writer.take();
    },
    end(): readonly ChatEvent[] {
      if (!writer.ended) events.end();
      attempt(() => answer.finish());
      return writer.take();
    },
  };
}
