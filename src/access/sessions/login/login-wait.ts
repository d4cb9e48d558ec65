import { ServiceError } from "../../../core/service-error.ts";
import type { loginFailures } from "../../../db/tables/users.ts";

export type Failures = typeof loginFailures.$inferSelect;

/** Consecutive failures without a wait, for an account and for an address that many users may share. */
const FREE_FAILURES = { account: 5, address: 20 };
/** The wait after the last free failure; each further failure doubles it. */
const FIRST_WAIT_MS = 1_000;
const WAIT_MAX_MS = 900_000;

interface TimedFailures {
  /** Unix milliseconds. */
  readonly at: number;
  readonly account: Failures | undefined;
  readonly address: Failures | undefined;
}

/** Throws `rate_limit_exceeded` while the failures of an account or of an address require a longer wait. */
export function refuseTooSoon({ at, account, address }: TimedFailures): void {
  const waitMs = Math.max(
    remainingWaitMs(account, FREE_FAILURES.account, at),
    remainingWaitMs(address, FREE_FAILURES.address, at),
  );
  if (waitMs <= 0) return;
  const seconds = Math.ceil(waitMs / 1_000);
  throw new ServiceError(
    "rate_limit_exceeded",
    `Too many logins have failed; wait ${seconds} s before the next.`,
    { retryAfterSeconds: seconds },
  );
}

function remainingWaitMs(row: Failures | undefined, freeFailures: number, at: number): number {
  if (row === undefined || row.failures < freeFailures) return 0;
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (row.failures - freeFailures), WAIT_MAX_MS);
  const passedMs = at - row.lastFailedAt.getTime();
  // A failure far in the future is from a clock that has been set back since; it must not lock out anyone for longer.
  return passedMs < -waitMs ? 0 : waitMs - passedMs;
}
