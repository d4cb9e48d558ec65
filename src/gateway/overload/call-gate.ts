import type { Settings } from "../../config/settings.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Log } from "../../lib/log.ts";
import { freeMemory, memoryLimitBytes } from "../../lib/process/memory-limit.ts";
import { watchLoop } from "../../lib/process/watch-loop.ts";
import { createOpenCalls, type OpenCalls } from "../open-calls.ts";
import { BodiesInHand } from "./bodies-in-hand.ts";
import { CallLimit } from "./call-limit.ts";
import { CallStarts } from "./call-starts.ts";
import { RefusalPace } from "./refusal-pace.ts";

/** Refuses model calls that the process cannot carry in addition to its running ones. */
export interface CallGate {
  /**
   * Returns the error for a call that arrives now; undefined when it may continue.
   *
   * @param isOpen is true when the call is among the open ones already.
   */
  readonly refusal: (isOpen?: boolean) => ServiceError | undefined;
  /**
   * Returns undefined when a call that was not refused may begin now, else a promise for its turn: of undefined, or of
   * the error when memory has become short meanwhile.
   */
  readonly start: () => Promise<ServiceError | undefined> | undefined;
  /** Returns a promise for the time when a refusal may be sent; undefined when it may be sent now. */
  readonly turn: () => Promise<void> | undefined;
  /** Returns the number of calls that wait for their start. */
  readonly waiting: () => number;
  readonly close: () => void;
}

export interface CallGateOptions {
  readonly openCalls: Pick<OpenCalls, "count">;
  readonly log: Log;
  /** Measures the process. */
  readonly readings?: LoadReadings;
}

/** The source of the readings. */
export interface LoadReadings {
  /** Calls back at every look with the delay of the event loop in milliseconds. Returns a function that stops it. */
  readonly watchLoop: (onLook: (loopDelayMs: number) => void) => () => void;
  /** Returns the used share of the process's memory limit. Throws when the process has no file descriptor left. */
  readonly memoryShare: () => number;
  /** Returns milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Asks the runtime to return unused memory. */
  readonly freeMemory: () => void;
}

const MEMORY_SHARE_MAX = 0.85;
const MEMORY_LOOK_EVERY_MS = 500;
const FREE_EVERY_MS = 5_000;
const TELL_EVERY_MS = 10_000;
/** When calls wait for so many turns of the event loop that it takes this long, more arrive than the process can answer. */
const START_WAIT_MAX_MS = 1_000;
const BYTES_PER_MB = 1024 * 1024;
/** The delays are spread, so that clients that were refused together do not return together. */
const RETRY_SECONDS_MAX = 3;

/** The calls of this process, and the gate that refuses calls beyond its capacity. */
export interface GatedCalls {
  readonly openCalls: OpenCalls;
  readonly callGate: CallGate;
}

/** Creates the calls of this process, the budget of their bodies and the gate before them. */
export function openGatedCalls({
  settings,
  log,
  timeoutMs,
}: {
  readonly settings: Pick<Settings, "BODIES_IN_HAND_MB">;
  readonly log: Log;
  readonly timeoutMs: number;
}): GatedCalls {
  const bodies = new BodiesInHand(settings.BODIES_IN_HAND_MB * BYTES_PER_MB);
  const openCalls = createOpenCalls(timeoutMs, bodies);
  return { openCalls, callGate: openCallGate({ openCalls, log }) };
}

export function openCallGate({
  openCalls,
  log,
  readings = processReadings(),
}: CallGateOptions): CallGate {
  const limit = new CallLimit();
  const pace = new RefusalPace();
  const starts = new CallStarts({ running: openCalls.count, now: readings.now });
  let memoryShare = readings.memoryShare();
  let memoryReadAt = readings.now();
  let freedAt = Number.NEGATIVE_INFINITY;
  let delayMs = 0;
  let refused = 0;
  let toldAt = Number.NEGATIVE_INFINITY;

  const isShortOfMemory = () => memoryShare >= MEMORY_SHARE_MAX;
  /** One call continues however full the memory is, because only work makes the runtime collect garbage. */
  const isTooMuch = (calls: number) => calls > 0 && isShortOfMemory();
  const refuse = () => {
    refused += 1;
    return overloaded(1 + (refused % RETRY_SECONDS_MAX));
  };
  const lookAtMemory = (now: number) => {
    if (now - memoryReadAt < MEMORY_LOOK_EVERY_MS) return;
    memoryReadAt = now;
    try {
      memoryShare = readings.memoryShare();
    } catch {
      // Reading it takes a file descriptor; while there are no free ones, the last reading is used.
      return;
    }
    if (!isShortOfMemory() || now - freedAt < FREE_EVERY_MS) return;
    freedAt = now;
    readings.freeMemory();
  };
  const tell = (now: number) => {
    if (refused === 0 || now - toldAt < TELL_EVERY_MS) return;
    toldAt = now;
    log.warn(
      {
        refused,
        calls: openCalls.count(),
        waiting: starts.waiting,
        loop_delay_ms: Math.round(delayMs),
        memory_percent: Math.round(memoryShare * 100),
      },
      "calls were refused with 503: the process is overloaded. Start another replica, or send fewer calls",
    );
    refused = 0;
  };
  const stopWatching = readings.watchLoop((loopDelayMs) => {
    const now = readings.now();
    delayMs = loopDelayMs;
    limit.look({ loopDelayMs, calls: openCalls.count(), now });
    lookAtMemory(now);
    pace.look();
    tell(now);
  });

  return {
    refusal(isOpen = false) {
      // Those that wait for their start were not refused, so the limit counts them too.
      const calls = openCalls.count() + starts.waiting - (isOpen ? 1 : 0);
      const isInTime = isOpen || starts.waitedMs < START_WAIT_MAX_MS;
      if (calls < limit.calls && isInTime && !isTooMuch(calls)) return undefined;
      return refuse();
    },
    start: () => starts.next()?.then(() => (isTooMuch(openCalls.count()) ? refuse() : undefined)),
    turn: () => pace.next(),
    waiting: () => starts.waiting,
    close() {
      stopWatching();
      pace.close();
    },
  };
}

function processReadings(): LoadReadings {
  const limitBytes = memoryLimitBytes();
  return {
    watchLoop,
    memoryShare: () => process.memoryUsage.rss() / limitBytes,
    now: () => performance.now(),
    freeMemory,
  };
}

function overloaded(retryAfterSeconds: number): ServiceError {
  return new ServiceError("overloaded", "The gateway is overloaded; send the request again.", {
    retryAfterSeconds,
  });
}
