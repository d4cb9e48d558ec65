import type { Duplex } from "node:stream";
import type { FunctionCatalog } from "../../../lib/sql-gate/postgres/function-catalog.ts";
import type { Turns } from "../../../lib/worker/turns.ts";
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
  /** In which the server works for one session after another; null where nobody has to wait. */
  readonly turns: Turns | null;
  /** The key that its turns are counted for. */
  readonly turnKey: string;
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
  /** What was sent meanwhile, for a cancel that comes late would hit it, or before its turn. */
  #held: Buffer[] = [];
  #turn: "none" | "held" | "not needed" = "none";
  #waiting: AbortController | undefined;
  #waited: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: UpstreamSessionOptions) {
    this.#options = options;
    this.#stream = options.session.stream;
    this.parameters = options.session.parameters;
    this.takePlace = options.takePlace;
    this.#stream.on("error", () => undefined);
    this.#stream.on("data", (bytes: Buffer) => {
      if (this.#isClosed) return;
      if (options.receiver.bytes(bytes)) return;
      this.#stream.pause();
      // The server stops at a full socket: what a client reads slowly takes little of its time.
      this.rest();
    });
    this.#stream.once("close", () => this.#lost());
    this.#stream.once("end", () => this.#lost());
  }

  get catalog(): FunctionCatalog {
    return this.#options.catalog();
  }

  get isWaiting(): boolean {
    return this.#waiting !== undefined;
  }

  send(messages: Buffer): boolean {
    if (this.#isClosed) return true;
    if (this.#cancelling !== undefined || !this.#hasTurn()) {
      this.#held.push(messages);
      return false;
    }
    return this.#stream.write(messages);
  }

  async drained(): Promise<void> {
    await this.#waited;
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

  rest(): void {
    if (this.#turn === "held") this.#options.turns?.leave(this.#options.turnKey);
    this.#turn = "none";
  }

  cancel(): void {
    if (this.#cancelling !== undefined || this.#isClosed) return;
    // The server has to answer what it is to cancel.
    if (this.#waiting !== undefined) this.#begin("not needed");
    this.#cancelling = this.#options.requestCancel().finally(() => {
      this.#cancelling = undefined;
      this.#sendHeld();
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#over();
    const timer = setTimeout(() => this.#stream.destroy(), CLOSE_MS);
    this.#stream.once("close", () => clearTimeout(timer));
    // A backend that is idle leaves by this message; one that writes fails at the closed socket.
    this.#stream.end(terminate(), () => this.#stream.destroy());
  }

  /** Whether the server may work for this session now. If not, what is held is sent when it may. */
  #hasTurn(): boolean {
    const { turns, turnKey } = this.#options;
    if (turns === null || this.#turn !== "none") return true;
    if (this.#waiting !== undefined) return false;
    if (turns.enterFree(turnKey)) {
      this.#turn = "held";
      return true;
    }
    this.#waiting = new AbortController();
    this.#waited = this.#wait(turns, this.#waiting);
    return false;
  }

  async #wait(turns: Turns, waiting: AbortController): Promise<void> {
    const { turnKey } = this.#options;
    const hasCome = await turns.enter(turnKey, waiting.signal).then(
      () => true,
      () => false,
    );
    if (!hasCome) return;
    if (this.#waiting === waiting) this.#begin("held");
    else turns.leave(turnKey);
  }

  #begin(turn: "held" | "not needed"): void {
    this.#waiting?.abort();
    this.#waiting = undefined;
    this.#turn = turn;
    this.#options.receiver.began();
    this.#sendHeld();
  }

  #sendHeld(): void {
    for (const messages of this.#held.splice(0)) this.send(messages);
  }

  #over(): void {
    this.#isClosed = true;
    this.#waiting?.abort();
    this.#waiting = undefined;
    this.rest();
    this.#options.closed();
  }

  #lost(): void {
    if (this.#isClosed) return;
    this.#over();
    this.#stream.destroy();
    this.#options.receiver.ended("57P01", "The database closed the connection. Connect again.");
  }
}
