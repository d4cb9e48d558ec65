import { atTurnEnd, type TurnWork } from "../../time/at-turn-end.ts";
import type { BunSocket, SocketOwner } from "./bun-socket.ts";

/** Receives the response on a connection. */
export interface AnswerReceiver {
  /** The receiver may keep and modify the bytes. */
  readonly received: (bytes: Buffer) => void;
  /** The connection is closed. `isInOrder` is true when the server closed it in order. */
  readonly closed: (isInOrder: boolean) => void;
}

/** A connection to a server. It carries one call at a time. */
export class HttpConnection implements SocketOwner, TurnWork {
  readonly #socket: BunSocket;
  readonly #onIdleEnd: (connection: HttpConnection) => void;
  #receiver: AnswerReceiver | undefined;
  /** Of the request: what the system did not take yet. */
  #unsent: Uint8Array | undefined;
  #isPaused = false;
  #isClosed = false;
  #isGivenUp = false;
  /** When the server is likely to close the idle connection, by `performance.now()`. */
  idleUntil = 0;

  /** @param onIdleEnd called when the connection ended, or received unexpected bytes, while idle. */
  constructor(socket: BunSocket, onIdleEnd: (connection: HttpConnection) => void) {
    this.#socket = socket;
    this.#onIdleEnd = onIdleEnd;
    socket.data = this;
  }

  /** True when the system has accepted all written bytes. Only then may another request follow. */
  get isSent(): boolean {
    return this.#unsent === undefined;
  }

  start(request: Uint8Array, receiver: AnswerReceiver): void {
    if (this.#isClosed) {
      receiver.closed(false);
      return;
    }
    this.#receiver = receiver;
    this.#socket.ref();
    this.#unsent = request;
    // Requests of one turn leave together.
    atTurnEnd(this);
  }

  runAtTurnEnd(): void {
    if (this.#unsent !== undefined) this.#send(this.#unsent);
  }

  /** The call is over and the connection waits for the next one. */
  rest(idleUntil: number): void {
    this.#receiver = undefined;
    this.idleUntil = idleUntil;
    this.resume();
    this.#socket.unref();
  }

  pause(): void {
    if (this.#isPaused || this.#isClosed) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#isPaused || this.#isClosed) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** Closes immediately and discards pending data. */
  close(): void {
    this.#isGivenUp = true;
    if (!this.#isClosed) this.#socket.terminate();
  }

  received(bytes: Buffer): void {
    if (this.#receiver !== undefined) {
      this.#receiver.received(bytes);
      return;
    }
    this.close();
    this.#onIdleEnd(this);
  }

  writable(): void {
    this.runAtTurnEnd();
  }

  closed(error: unknown): void {
    this.#isClosed = true;
    this.#unsent = undefined;
    const receiver = this.#receiver;
    this.#receiver = undefined;
    if (receiver === undefined) this.#onIdleEnd(this);
    else receiver.closed(error === undefined && !this.#isGivenUp);
  }

  #send(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const taken = this.#socket.write(bytes);
    this.#unsent = taken < bytes.length ? bytes.subarray(Math.max(taken, 0)) : undefined;
  }
}
