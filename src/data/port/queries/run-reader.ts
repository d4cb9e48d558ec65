import { readError, type ServerError } from "../protocol/backend-messages.ts";
import { MessageReader } from "../protocol/message-reader.ts";

/** What the database's messages say about one statement. */
export interface RunEvents {
  /** @param body of a RowDescription. */
  readonly columns: (body: Buffer) => void;
  /** @param body of a DataRow. */
  readonly row: (body: Buffer) => void;
  /** It has given the rows that were asked for, and may have more. */
  readonly suspended: () => void;
  readonly failed: (error: ServerError) => void;
  /** It has done all that it was sent. @param isIdle outside of a transaction. */
  readonly ready: (isIdle: boolean) => void;
}

const IDLE = "I".charCodeAt(0);

/** Reads the messages of the database while one statement runs. */
export class RunReader {
  readonly #reader: MessageReader;
  readonly #events: RunEvents;

  constructor(maxRowBytes: number, events: RunEvents) {
    this.#reader = new MessageReader(maxRowBytes);
    this.#events = events;
  }

  /** Throws for a row that is too large, or whatever an event throws. */
  read(bytes: Buffer): void {
    for (const { type, body } of this.#reader.read(bytes)) this.#message(type, body);
  }

  #message(type: string, body: Buffer): void {
    const { columns, row, suspended, failed, ready } = this.#events;
    switch (type) {
      case "D":
        row(body);
        return;
      case "T":
        columns(body);
        return;
      case "s":
        suspended();
        return;
      case "E":
        failed(readError(body));
        return;
      case "Z":
        ready(body[0] === IDLE);
        return;
      default:
    }
  }
}
