import { ServiceError } from "../../core/service-error.ts";
import { clientNetwork } from "../../lib/egress/ip-address.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** More than the people behind one address need; each may cost the provider some requests. */
const A_MINUTE_MAX = 60;
const WINDOW_MS = 60_000;
/** Beyond it, all further addresses of a minute count as one. */
const ADDRESSES_MAX = 10_000;

/**
 * Creates the pace of sign-ins: how many an address may try in a minute. It throws `rate_limit_exceeded`. It is no brake
 * on logins: no failure counts, and the next minute begins anew.
 */
export function createAddressPace(clock: Clock): (address: string | null) => void {
  const tries = new Map<string, number>();
  let beganAt = Number.NEGATIVE_INFINITY;
  return (address) => {
    const now = clock.now();
    const passedMs = now - beganAt;
    if (passedMs >= WINDOW_MS || passedMs < 0) {
      tries.clear();
      beganAt = now;
    }
    const network = address === null ? "" : clientNetwork(address);
    const isKnown = tries.has(network) || tries.size < ADDRESSES_MAX;
    const counted = isKnown ? network : "";
    const tried = tries.get(counted) ?? 0;
    if (tried >= A_MINUTE_MAX) throw tooFast(beganAt + WINDOW_MS - now);
    tries.set(counted, tried + 1);
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
