import { ServiceError } from "../../core/service-error.ts";
import { limitWork } from "../../lib/concurrency.ts";

/** Logins in work at once: fewer than the database has connections, so that a flood of them leaves some to others. */
const AT_ONCE_MAX = 4;
const WAITING_MAX = 64;

/** Runs a login when it is its turn. */
export type InLoginTurn = <Result>(login: () => Promise<Result>) => Promise<Result>;

/** Makes the gate that all logins of this process pass. It rejects with `overloaded` what comes when too many wait. */
export function createLoginTurns(): InLoginTurn {
  return limitWork({ running: AT_ONCE_MAX, waiting: WAITING_MAX, refusal: tooMany });
}

function tooMany(): ServiceError {
  return new ServiceError("overloaded", "Too many logins come at once; try again soon.", {
    retryAfterSeconds: 2,
  });
}
