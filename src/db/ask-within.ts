import { ServiceError } from "../core/service-error.ts";
import { isUnavailable, toDatabaseError } from "./database-error.ts";

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
    const answer = work().finally(() => {
      waiting -= 1;
    });
    return within(answer, waitMs);
  };
}

async function within<Result>(answer: Promise<Result>, waitMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable(`no answer within ${waitMs} ms`)), waitMs);
  });
  try {
    return await Promise.race([answer, tooLate]);
  } catch (thrown) {
    if (thrown instanceof ServiceError) throw thrown;
    const error = toDatabaseError(thrown);
    throw isUnavailable(error) ? unavailable(error.message) : error;
  } finally {
    clearTimeout(timer);
  }
}

function unavailable(cause: string): ServiceError {
  return new ServiceError("storage_unavailable", "The gateway's database is not reachable now.", {
    retryAfterSeconds: 1,
    cause: new Error(cause),
  });
}
