import { ServiceError } from "../core/service-error.ts";
import { within } from "../lib/within.ts";
import { isFromDatabase, isUnavailable, toDatabaseError } from "./database-error.ts";

/** Callers that may wait for the database at once; the next ones are turned away instead of piling up. */
const WAITING_MAX = 1_000;

/**
 * Makes the gate through which callers ask the database: at most `waitMs` each, at most WAITING_MAX at once.
 * The driver has no such limits of its own. A query given up on goes on in the driver and still counts as
 * waiting, so a hung database is asked no more than WAITING_MAX times.
 */
export function askWithin(
  waitMs: number,
): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let waiting = 0;
  return async (work) => {
    if (waiting >= WAITING_MAX) throw unavailable("too many callers wait for the database");
    waiting += 1;
    const answer = Promise.resolve()
      .then(work)
      .finally(() => {
        waiting -= 1;
      });
    const tooLate = () => unavailable(`no answer within ${waitMs} ms`);
    return within(answer, waitMs, tooLate).catch((thrown: unknown) => {
      throw translated(thrown);
    });
  };
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
