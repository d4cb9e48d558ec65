import { ServiceError } from "../core/service-error.ts";
import { watchTime } from "../lib/watch-time.ts";
import { BodiesInHand, type BodyKind } from "./overload/bodies-in-hand.ts";

/** One running call. */
export interface OpenCall {
  /**
   * Aborted when the client disconnects, the time is up or the server stops. A `ServiceError` as reason is meant for
   * the client.
   */
  readonly signal: AbortSignal;
  readonly abort: (reason?: ServiceError) => void;
  /** Marks the answer as a stream. */
  readonly beginStream: () => void;
  /**
   * Counts the bytes that the call's body has or will have, until `releaseBody` or `close`. Throws `overloaded` when
   * the budget of all bodies has no room for them.
   *
   * @param kind must be the same in every call of one body; a text by default.
   */
  readonly holdBody: (bytes: number, kind?: BodyKind) => void;
  /** Releases the bytes of a body that is no longer needed. */
  readonly releaseBody: () => void;
  /** Ends the call: nothing more is read or written for it. */
  readonly close: () => void;
}

/** The running calls, so that a stopping server can wait for them and end them. */
export interface OpenCalls {
  /** @param opener is `run` for calls that workflows make. */
  readonly open: (clientSignal: AbortSignal, opener?: "client" | "run") => OpenCall;
  /** The number of running calls, whoever makes them. */
  readonly count: () => number;
  /** The number of running calls that clients wait for. */
  readonly clients: () => number;
  /** The number of running calls whose answer is a stream. */
  readonly streams: () => number;
  readonly abortAll: (reason: ServiceError) => void;
}

/**
 * @param timeoutMs is the time that a whole call may take.
 * @param bodies counts the bytes of their bodies.
 */
export function createOpenCalls(
  timeoutMs: number,
  bodies = new BodiesInHand(Number.POSITIVE_INFINITY),
): OpenCalls {
  const running = new Set<AbortController>();
  const streams = new Set<AbortController>();
  const ofRuns = new Set<AbortController>();
  return {
    open(clientSignal, opener = "client") {
      const controller = new AbortController();
      running.add(controller);
      if (opener === "run") ofRuns.add(controller);
      const leave = () => controller.abort();
      // Without the listener, an abort would not arrive while the engine's headers are still awaited.
      if (clientSignal.aborted) leave();
      else clientSignal.addEventListener("abort", leave, { once: true });
      const endsAt = performance.now() + timeoutMs;
      const stopWatching = watchTime((now) => {
        if (now >= endsAt) controller.abort(timedOut(timeoutMs));
      });
      let bodyBytes = 0;
      let bodyKind: BodyKind | undefined;
      const releaseBody = () => {
        bodies.giveBack(bodyBytes, bodyKind);
        bodyBytes = 0;
      };
      return {
        signal: controller.signal,
        abort: (reason) => controller.abort(reason),
        beginStream() {
          if (running.has(controller)) streams.add(controller);
        },
        holdBody(bytes, kind) {
          // Data that still arrives for an ended call is dropped.
          if (bytes <= bodyBytes || !running.has(controller)) return;
          bodies.grow(bodyBytes, bytes, kind);
          bodyBytes = bytes;
          bodyKind = kind;
        },
        releaseBody,
        close() {
          releaseBody();
          stopWatching();
          clientSignal.removeEventListener("abort", leave);
          running.delete(controller);
          streams.delete(controller);
          ofRuns.delete(controller);
        },
      };
    },
    count: () => running.size,
    clients: () => running.size - ofRuns.size,
    streams: () => streams.size,
    abortAll(reason) {
      for (const controller of running) controller.abort(reason);
    },
  };
}

function timedOut(timeoutMs: number): ServiceError {
  return new ServiceError(
    "upstream_timeout",
    `The call took longer than ${Math.round(timeoutMs / 1000)} seconds.`,
  );
}
