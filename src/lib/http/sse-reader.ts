import { createParser, type EventSourceParser } from "eventsource-parser";

/** What reads the events of a stream. */
export interface SseHandler {
  /** One event: its data lines joined, and its name where it has one. */
  readonly onEvent: (data: string, name: string | undefined) => void;
  /** An event is longer than the limit; nothing is read after it. */
  readonly onTooLong: () => void;
  readonly shortcut?: SseShortcut | undefined;
}

/** A faster way through events that the handler knows by their very text. */
export interface SseShortcut {
  /** True while events should be offered to it, one by one; it may become false for good. */
  readonly isActive: boolean;
  /**
   * Takes as many events as it knows off the text, which begins a new event at `start`, and returns the position of
   * the first character not taken. What it takes are whole events in the form `data: …\n\n`.
   */
  readonly take: (text: string, start: number) => number;
}

/** An empty line after any line end: it ends the event that the stream's end left open. */
const END_OF_STREAM = "\n\n";

/**
 * Cuts a stream of UTF-8 bytes into server-sent events. Bytes may be split anywhere, inside a character too; lines end
 * with LF, CRLF or CR; a byte order mark and comments are left out; an event that the end of the stream cuts off
 * before its empty line counts.
 */
export class SseReader {
  readonly #handler: SseHandler;
  readonly #parser: EventSourceParser;
  readonly #decoder = new TextDecoder();
  /** What was read so far ends with a whole event. */
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
        // Unknown fields are to be ignored.
        if (type === "max-buffer-size-exceeded") this.#stop();
      },
    });
  }

  read(bytes: Uint8Array): void {
    this.#readText(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The connection is closed. */
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
