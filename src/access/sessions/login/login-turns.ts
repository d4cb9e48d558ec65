import { ServiceError } from "../../../core/service-error.ts";
import { limitWork } from "../../../lib/concurrency.ts";

/**
 * The number of concurrent logins, below the number of database connections, so that a flood of logins leaves some to
 * others.
 */
const AT_ONCE_MAX = 4;
const WAITING_MAX = 64;

/** Runs a login in its turn. */
export type InLoginTurn = <Result>(login: () => Promise<Result>) => Promise<Result>;

/** Creates the gate that all logins of this process pass. It rejects with `overloaded` when too many wait. */
export function createLoginTurns(): InLoginTurn {
  return limitWork({ running: AT_ONCE_MAX, waiting: WAITING_MAX, refusal: tooMany });
}

function tooMany(): ServiceError {
  return new ServiceError("overloaded", "Too many logins come at once; try again soon.", {
    retryAfterSeconds: 2,
  });
}
