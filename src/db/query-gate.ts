import { ServiceError } from "../core/service-error.ts";
import { isFromDatabase, isUnavailable, toDatabaseError } from "./database-error.ts";

/** The most jobs that may wait for a connection. Further ones are refused instead of piling up. */
const WAITING_MAX = 1_000;
/**
 * How long a job may continue after its caller got 503. The server cancels every statement earlier, so a longer silence
 * means that the host has vanished.
 */
const HUNG_MS = 45_000;

/** The state and the counters of a gate. */
export interface GateFigures {
  /** Running jobs, abandoned ones included: each holds a connection. */
  readonly inUse: number;
  /** The most jobs that may run at once. */
  readonly max: number;
  /** Jobs that wait for a connection. */
  readonly waiting: number;
  /** Jobs refused since the start, because too many waited or because they took too long. */
  readonly refused: number;
}

export interface QueryGateOptions {
  /** The time limit from the request to the answer. */
  readonly waitMs: number;
  /** The most jobs that may run at once: the number of connections. */
  readonly max: number;
  /**
   * Called when the database has been silent for so long that its connections must be dead. The callee must cause
   * `renew`.
   */
  readonly onHung?: () => void;
  /** Defaults to HUNG_MS. */
  readonly hungMs?: number | undefined;
}

type Work<Result> = (signal: AbortSignal) => Promise<Result>;

export interface QueryGate {
  /**
   * Runs a job for a caller, who waits at most `waitMs`; at most WAITING_MAX jobs queue. A job abandoned in the queue
   * never starts. A running one keeps its place until it ends; its signal is aborted with the caller's error as the
   * reason. Rejects with `storage_unavailable`, or with a DatabaseError when the database refuses.
   */
  readonly ask: <Result>(work: Work<Result>) => Promise<Result>;
  /** Frees all places, because there are new connections. Jobs on the old ones no longer count. */
  readonly renew: () => void;
  readonly figures: () => GateFigures;
}

/** Creates the gate in front of a pool. The driver limits neither the time nor the number of waiting queries. */
export function createQueryGate(options: QueryGateOptions): QueryGate {
  const { waitMs, max, onHung = () => undefined, hungMs = HUNG_MS } = options;
  const waiting = new Set<() => void>();
  let free = max;
  let generation = 0;
  let refused = 0;

  const refuse = (cause: string): ServiceError => {
    refused += 1;
    return unavailable(cause);
  };
  const admitNext = (): void => {
    for (const begin of waiting) {
      if (free === 0) return;
      waiting.delete(begin);
      begin();
    }
  };
  /** Takes a place; returns the function that releases it. */
  const takePlace = () => {
    const taken = generation;
    free -= 1;
    return () => {
      if (taken !== generation) return;
      free += 1;
      admitNext();
    };
  };

  return {
    ask(work) {
      if (free === 0 && waiting.size >= WAITING_MAX) {
        return Promise.reject(refuse("too many callers wait for the database"));
      }
      return new Promise((resolve, reject) => {
        const controller = new AbortController();
        const giveUp = () => {
          if (!waiting.delete(begin)) timer = setTimeout(onHung, hungMs).unref();
          const refusal = refuse(`no answer within ${waitMs} ms`);
          controller.abort(refusal);
          reject(refusal);
        };
        let timer = setTimeout(giveUp, waitMs);
        const begin = () => {
          const giveBack = takePlace();
          const end = () => {
            clearTimeout(timer);
            giveBack();
          };
          started(work, controller.signal)
            .finally(end)
            .then(resolve, (thrown: unknown) => reject(translated(thrown)));
        };
        if (free > 0) begin();
        else waiting.add(begin);
      });
    },
    renew() {
      generation += 1;
      free = max;
      admitNext();
    },
    figures: () => ({ inUse: max - free, max, waiting: waiting.size, refused }),
  };
}

/** Turns a synchronous throw into a rejection. */
async function started<Result>(work: Work<Result>, signal: AbortSignal): Promise<Result> {
  return work(signal);
}

function translated(thrown: unknown): unknown {
  if (thrown instanceof ServiceError || !isFromDatabase(thrown)) return thrown;
  const error = toDatabaseError(thrown);
  return isUnavailable(error) ? unavailable(error.message) : error;
}

function unavailable(cause: string): ServiceError {
  return new ServiceError("storage_unavailable", "The gateway's database is not reachable now.", {
    retryAfterSeconds: 1,
    cause: new Error(cause),
  });
}
