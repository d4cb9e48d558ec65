import { createParser, type EventSourceParser } from "eventsource-parser";

/** Receives the events of a stream. */
export interface SseHandler {
  /** Called for each event with its joined data lines, and with its name if it has one. */
  readonly onEvent: (data: string, name: string | undefined) => void;
  /** Called when an event exceeds the limit. Nothing is read after it. */
  readonly onTooLong: () => void;
  readonly shortcut?: SseShortcut | undefined;
}

/** A fast path for events that the handler recognizes by their exact text. */
export interface SseShortcut {
  /** True while events should be offered to it. May become false permanently. */
  readonly isActive: boolean;
  /**
   * Consumes as many recognized events as possible from the text, in which a new event begins at `start`. Returns the
   * position of the first character not consumed. It consumes only whole events in the form `data: …
   *
   * `.
   */
  readonly take: (text: string, start: number) => number;
}

/** Ends an event that the end of the stream left open: an empty line after any line end. */
const END_OF_STREAM = "\n\n";

/**
 * Splits a stream of UTF-8 bytes into server-sent events. Bytes may be split anywhere, even inside a character. Lines
 * end with LF, CRLF or CR. A byte order mark and comments are skipped. An event that the end of the stream cuts off
 * before its empty line counts.
 */
export class SseReader {
  readonly #handler: SseHandler;
  readonly #parser: EventSourceParser;
  readonly #decoder = new TextDecoder();
  /** True when the input so far ends with a complete event. */
  #betweenEvents = true;
  #tooLong = false;

  /** @param maxEventLength in UTF-16 units, so never more than the bytes of the event. */
  constructor(maxEventLength: number, handler: SseHandler) {
    this.#handler = handler;
    this.#parser = createParser({
      maxBufferSize: maxEventLength,
      onEvent: ({ data, event }) => {
        if (this.#tooLong) return;
        if (data.length > maxEventLength) this.#stop();
        else handler.onEvent(data, event);
      },
      onError: ({ type }) => {
        // Unknown fields are ignored.
        if (type === "max-buffer-size-exceeded") this.#stop();
      },
    });
  }

  read(bytes: Uint8Array): void {
    this.#readText(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Must be called when the connection is closed. */
  end(): void {
    this.#feed(this.#decoder.decode() + END_OF_STREAM);
  }

  #readText(text: string): void {
    const { shortcut } = this.#handler;
    let position = 0;
    while (shortcut?.isActive === true) {
      if (this.#betweenEvents) position = shortcut.take(text, position);
      const end = text.indexOf("\n\n", position) + 2;
      if (end < 2) break;
      this.#feed(text.slice(position, end));
      this.#betweenEvents = true;
      position = end;
    }
    if (position === text.length) return;
    const rest = position === 0 ? text : text.slice(position);
    this.#feed(rest);
    this.#betweenEvents = rest.endsWith("\n\n");
  }

  #feed(text: string): void {
    if (!this.#tooLong) this.#parser.feed(text);
  }

  #stop(): void {
    if (this.#tooLong) return;
    this.#tooLong = true;
    this.#handler.onTooLong();
  }
}
