import { ServiceError } from "../core/service-error.ts";
import { watchTime } from "../lib/watch-time.ts";
import { BodiesInHand, type BodyKind } from "./overload/bodies-in-hand.ts";

/** One client call while it runs. */
export interface OpenCall {
  /** Aborted when the client leaves, the time is up or the server stops; a `ServiceError` as reason is for the client to see. */
  readonly signal: AbortSignal;
  readonly abort: (reason?: ServiceError) => void;
  /** Its answer is a stream. */
  readonly beginStream: () => void;
  /**
   * Its body has, or will have, so many bytes: they count until `releaseBody` or `close`. Throws `overloaded` where the
   * bodies of all calls have no room for them.
   *
   * @param kind is the same at every call; a text by default.
   */
  readonly holdBody: (bytes: number, kind?: BodyKind) => void;
  /** Nothing needs the body any more. */
  readonly releaseBody: () => void;
  /** The call is over: nothing more will be read or written for it. */
  readonly close: () => void;
}

/** The calls that are running, so that a stopping server can wait for them and end them. */
export interface OpenCalls {
  readonly open: (clientSignal: AbortSignal) => OpenCall;
  readonly count: () => number;
  /** Of these, those whose answer is a stream. */
  readonly streams: () => number;
  readonly abortAll: (reason: ServiceError) => void;
}

/**
 * @param timeoutMs how long a call may take as a whole.
 * @param bodies where their bodies are counted.
 */
export function createOpenCalls(
  timeoutMs: number,
  bodies = new BodiesInHand(Number.POSITIVE_INFINITY),
): OpenCalls {
  const running = new Set<AbortController>();
  const streams = new Set<AbortController>();
  return {
    open(clientSignal) {
      const controller = new AbortController();
      running.add(controller);
      const leave = () => controller.abort();
      // The listener is what makes an abort arrive while the engine's headers are still awaited.
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
          // What still arrives for a call that is over is dropped.
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
        },
      };
    },
    count: () => running.size,
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
