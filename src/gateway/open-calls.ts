import type { AddedBytes } from "../backends/backend.ts";
import { ServiceError } from "../core/service-error.ts";
import { Cancellation } from "../lib/cancellation.ts";
import { type TimeWatcher, unwatchTime, watchTimeBy } from "../lib/time/watch-time.ts";
import { BodiesInHand, type BodyKind } from "./overload/bodies-in-hand.ts";

const ONCE = { once: true } as const;

/** One running call. */
export interface OpenCall extends AddedBytes {
  /**
   * Aborted when the client disconnects, the time is up or the server stops. A `ServiceError` as reason is meant for
   * the client.
   */
  readonly signal: Cancellation;
  abort(reason?: ServiceError): void;
  /** Marks the answer as a stream. */
  beginStream(): void;
  /**
   * Counts the bytes that the call's body has or will have, until `releaseBody` or `close`. Throws `overloaded` when
   * the budget of all bodies has no room for them.
   *
   * @param kind must be the same in every call of one body; a text by default.
   */
  holdBody(bytes: number, kind?: BodyKind): void;
  /** Releases the bytes of a body that is no longer needed. */
  releaseBody(): void;
  /** Ends the call: nothing more is read or written for it. */
  close(): void;
}

/** The running calls, so that a stopping server can wait for them and end them. */
export interface OpenCalls {
  /**
   * @param opener is `run` for calls that workflows make.
   * @param onClose is called once, when the call ends.
   */
  readonly open: (
    clientSignal: AbortSignal,
    opener?: "client" | "run",
    onClose?: () => void,
  ) => OpenCall;
  /** The number of running calls, whoever makes them. */
  readonly count: () => number;
  /** The number of running calls that clients wait for. */
  readonly clients: () => number;
  /** The number of running calls whose answer is a stream. */
  readonly streams: () => number;
  readonly abortAll: (reason: ServiceError) => void;
}

/** The calls of a process, by what is counted of them. */
interface Running {
  readonly all: Set<OpenCall>;
  readonly streams: Set<OpenCall>;
  readonly ofRuns: Set<OpenCall>;
  readonly bodies: BodiesInHand;
  readonly timeoutMs: number;
}

/**
 * @param timeoutMs is the time that a whole call may take.
 * @param bodies counts the bytes of their bodies.
 */
export function createOpenCalls(
  timeoutMs: number,
  bodies = new BodiesInHand(Number.POSITIVE_INFINITY),
): OpenCalls {
  const all = new Set<OpenCall>();
  const streams = new Set<OpenCall>();
  const ofRuns = new Set<OpenCall>();
  const running: Running = { all, streams, ofRuns, bodies, timeoutMs };
  return {
    open(clientSignal, opener = "client", onClose = undefined) {
      const call = new RunningCall(running, clientSignal, onClose);
      all.add(call);
      if (opener === "run") ofRuns.add(call);
      return call;
    },
    count: () => all.size,
    clients: () => all.size - ofRuns.size,
    streams: () => streams.size,
    abortAll(reason) {
      for (const call of all) call.abort(reason);
    },
  };
}

// A class: one object a call, without a function for each thing that others call back.
class RunningCall implements OpenCall, TimeWatcher {
  readonly signal = new Cancellation();
  readonly #running: Running;
  readonly #clientSignal: AbortSignal;
  readonly #onClose: (() => void) | undefined;
  readonly #endsAt: number;
  #bodyBytes = 0;
  #bodyKind: BodyKind | undefined;
  #addedBytes = 0;

  constructor(running: Running, clientSignal: AbortSignal, onClose: (() => void) | undefined) {
    this.#running = running;
    this.#clientSignal = clientSignal;
    this.#onClose = onClose;
    // Without the listener, an abort would not arrive while the engine's headers are still awaited.
    if (clientSignal.aborted) this.signal.abort();
    else clientSignal.addEventListener("abort", this, ONCE);
    this.#endsAt = performance.now() + running.timeoutMs;
    watchTimeBy(this);
  }

  /** The client has left. */
  handleEvent(): void {
    this.signal.abort();
  }

  look(now: number): void {
    const { timeoutMs } = this.#running;
    if (now >= this.#endsAt) this.abort(timedOut(timeoutMs));
  }

  abort(reason?: ServiceError): void {
    this.signal.abort(reason);
  }

  beginStream(): void {
    const { all, streams } = this.#running;
    if (all.has(this)) streams.add(this);
  }

  holdBody(bytes: number, kind?: BodyKind): void {
    const { all, bodies } = this.#running;
    // Data that still arrives for an ended call is dropped.
    if (bytes <= this.#bodyBytes || !all.has(this)) return;
    bodies.grow(this.#bodyBytes, bytes, kind);
    this.#bodyBytes = bytes;
    this.#bodyKind = kind;
  }

  releaseBody(): void {
    this.#running.bodies.giveBack(this.#bodyBytes, this.#bodyKind);
    this.#bodyBytes = 0;
  }

  addBytes(bytes: number): void {
    const { all, bodies } = this.#running;
    if (!all.has(this)) return;
    // The call's own bytes are no others, so a call by itself always finds room.
    const own = this.#bodyBytes + this.#addedBytes;
    bodies.grow(own, own + bytes);
    this.#addedBytes += bytes;
  }

  releaseAdded(): void {
    this.#running.bodies.giveBack(this.#addedBytes);
    this.#addedBytes = 0;
  }

  close(): void {
    const { all, streams, ofRuns } = this.#running;
    if (!all.delete(this)) return;
    streams.delete(this);
    ofRuns.delete(this);
    this.releaseBody();
    this.releaseAdded();
    unwatchTime(this);
    this.#clientSignal.removeEventListener("abort", this);
    this.#onClose?.();
  }
}

function timedOut(timeoutMs: number): ServiceError {
  return new ServiceError(
    "upstream_timeout",
    `The call took longer than ${Math.round(timeoutMs / 1000)} seconds.`,
  );
}
