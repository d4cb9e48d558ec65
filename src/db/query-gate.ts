import { ServiceError } from "../core/service-error.ts";
import { isFromDatabase, isUnavailable, toDatabaseError } from "./database-error.ts";

/** Works that may wait for a connection at once; the next ones are turned away instead of piling up. */
const WAITING_MAX = 1_000;
/**
 * Longest a work may go on after its caller was told 503. The server cuts every statement earlier, so what is longer
 * without an answer waits for a host that has vanished without a word.
 */
const HUNG_MS = 45_000;

/** What a gate has let in and kept out. */
export interface GateFigures {
  /** Works under way, of those given up on too: each holds a connection. */
  readonly inUse: number;
  /** Works that may be under way at once. */
  readonly max: number;
  /** Works that wait for a connection. */
  readonly waiting: number;
  /** Since the start: turned away because too many waited, or because it took too long. */
  readonly refused: number;
}

export interface QueryGateOptions {
  /** Longest from the asking to the answer. */
  readonly waitMs: number;
  /** Works under way at once: as many as there are connections. */
  readonly max: number;
  /** Called when the database is silent for so long that its connections must be dead; `renew` is to follow. */
  readonly onHung?: () => void;
  /** Default HUNG_MS. */
  readonly hungMs?: number;
}

type Work<Result> = (signal: AbortSignal) => Promise<Result>;

export interface QueryGate {
  /**
   * Does a work that somebody waits for: at most `waitMs` each, at most WAITING_MAX in line. One that is given up on
   * before its turn never begins; one under way keeps its place until it ends, and is told by its signal, whose reason
   * is what the asker got.
   * Rejects with `storage_unavailable`, or with a DatabaseError when the database refuses.
   */
  readonly ask: <Result>(work: Work<Result>) => Promise<Result>;
  /** All places are free again: there are new connections, what the old ones still have in hand no longer counts. */
  readonly renew: () => void;
  readonly figures: () => GateFigures;
}

/** The gate in front of a pool. The driver knows no limit: neither in time, nor in the number of those who wait. */
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
  /** Takes a place; returns how to give it back. */
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

/** A work that throws at once rejects like any other. */
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
