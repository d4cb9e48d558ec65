import type { Duplex } from "node:stream";
import type { FunctionCatalog } from "../../../lib/sql-gate/postgres/function-catalog.ts";
import type { EngineSession, SessionReceiver } from "../engine.ts";
import { terminate } from "../protocol/frontend-messages.ts";
import type { LoggedIn } from "./log-in.ts";

export interface UpstreamSessionOptions {
  readonly session: LoggedIn;
  readonly receiver: SessionReceiver;
  readonly catalog: () => FunctionCatalog;
  readonly takePlace: string;
  /** Asks the server to cancel; resolves when it has been told. */
  readonly requestCancel: () => Promise<void>;
  readonly closed: () => void;
}

const CLOSE_MS = 1000;

/** Relays the bytes of a session that has logged in to a server. */
export class UpstreamSession implements EngineSession {
  readonly parameters: ReadonlyMap<string, string>;
  readonly takePlace: string;
  readonly #options: UpstreamSessionOptions;
  readonly #stream: Duplex;
  /** While the server is told to cancel. */
  #cancelling: Promise<void> | undefined;
  /** What was sent meanwhile: a cancel that comes late would hit it. */
  #held: Buffer[] = [];
  #isClosed = false;

  constructor(options: UpstreamSessionOptions) {
    this.#options = options;
    this.#stream = options.session.stream;
    this.parameters = options.session.parameters;
    this.takePlace = options.takePlace;
    this.#stream.on("error", () => undefined);
    this.#stream.on("data", (bytes: Buffer) => {
      if (this.#isClosed) return;
      if (!options.receiver.bytes(bytes)) this.#stream.pause();
    });
    this.#stream.once("close", () => this.#lost());
    this.#stream.once("end", () => this.#lost());
  }

  get catalog(): FunctionCatalog {
    return this.#options.catalog();
  }

  send(messages: Buffer): boolean {
    if (this.#isClosed) return true;
    if (this.#cancelling !== undefined) {
      this.#held.push(messages);
      return false;
    }
    return this.#stream.write(messages);
  }

  async drained(): Promise<void> {
    await this.#cancelling;
    if (this.#isClosed || !this.#stream.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const settle = () => {
        this.#stream.off("drain", settle);
        this.#stream.off("close", settle);
        resolve();
      };
      this.#stream.once("drain", settle);
      this.#stream.once("close", settle);
    });
  }

  resume(): void {
    if (!this.#isClosed) this.#stream.resume();
  }

  cancel(): void {
    if (this.#cancelling !== undefined || this.#isClosed) return;
    this.#cancelling = this.#options.requestCancel().finally(() => {
      this.#cancelling = undefined;
      for (const messages of this.#held.splice(0)) this.send(messages);
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.closed();
    const timer = setTimeout(() => this.#stream.destroy(), CLOSE_MS);
    this.#stream.once("close", () => clearTimeout(timer));
    // A backend that is idle leaves by this message; one that writes fails at the closed socket.
    this.#stream.end(terminate(), () => this.#stream.destroy());
  }

  #lost(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.closed();
    this.#stream.destroy();
    this.#options.receiver.ended("57P01", "The database closed the connection. Connect again.");
  }
}
