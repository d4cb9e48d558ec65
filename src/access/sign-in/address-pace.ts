import { ServiceError } from "../../core/service-error.ts";
import { clientNetwork } from "../../lib/egress/ip-address.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** More than the people behind one address need; each may cost the provider some requests. */
const SIGN_INS_A_MINUTE = 60;
/** The audit log forgets nothing: strangers must not fill it. */
const RECORDS_AN_HOUR = 10;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Beyond it, all further addresses of a window count as one. */
const ADDRESSES_MAX = 10_000;

/**
 * Creates the pace of sign-ins: how many an address may try in a minute. It throws `rate_limit_exceeded`. It is no brake
 * on logins: no failure counts, and the next minute begins anew.
 */
export function createAddressPace(clock: Clock): (address: string | null) => void {
  const count = createCount(clock, { most: SIGN_INS_A_MINUTE, windowMs: MINUTE_MS });
  return (address) => {
    const waitMs = count(address);
    if (waitMs !== undefined) throw tooFast(waitMs);
  };
}

/**
 * Creates the pace of records of what anybody can send without a sign-in. It returns whether one more of an address is
 * recorded in this hour.
 */
export function createRecordPace(clock: Clock): (address: string | null) => boolean {
  const count = createCount(clock, { most: RECORDS_AN_HOUR, windowMs: HOUR_MS });
  return (address) => count(address) === undefined;
}

/** Counts by address. The count returns how long to wait where the address has had its most; undefined otherwise. */
function createCount(
  clock: Clock,
  { most, windowMs }: { readonly most: number; readonly windowMs: number },
): (address: string | null) => number | undefined {
  const counts = new Map<string, number>();
  let beganAt = Number.NEGATIVE_INFINITY;
  return (address) => {
    const now = clock.now();
    const passedMs = now - beganAt;
    if (passedMs >= windowMs || passedMs < 0) {
      counts.clear();
      beganAt = now;
    }
    const network = address === null ? "" : clientNetwork(address);
    const isKnown = counts.has(network) || counts.size < ADDRESSES_MAX;
    const counted = isKnown ? network : "";
    const before = counts.get(counted) ?? 0;
    if (before >= most) return beganAt + windowMs - now;
    counts.set(counted, before + 1);
    return undefined;
  };
}

function tooFast(waitMs: number): ServiceError {
  const seconds = Math.ceil(waitMs / 1_000);
  return new ServiceError(
    "rate_limit_exceeded",
    `Too many sign-ins come from your address; wait ${seconds} s, then open this page again.`,
    { retryAfterSeconds: seconds },
  );
}
