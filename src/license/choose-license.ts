import type { LicenseTerms } from "./license-file.ts";

/** Where a license came from. */
export type LicenseSource = "uploaded" | "placed";

export interface HeldLicense {
  readonly source: LicenseSource;
  readonly terms: LicenseTerms;
}

/**
 * Which of the licenses at hand is in force. Of those that have not expired it is the one issued last: the vendor's
 * latest word holds, also where it allows less. When all have expired it is the one that did so last. Of equals the
 * uploaded one.
 *
 * @param now Unix milliseconds.
 */
export function chooseLicense(held: readonly HeldLicense[], now: number): HeldLicense | undefined {
  const running = held.filter(({ terms }) => endOf(terms) > now);
  return running.length > 0 ? latest(running, ({ issuedAt }) => issuedAt) : latest(held, endOf);
}

function latest(
  held: readonly HeldLicense[],
  timeOf: (terms: LicenseTerms) => number,
): HeldLicense | undefined {
  const byTime = (one: HeldLicense, other: HeldLicense) =>
    timeOf(other.terms) - timeOf(one.terms) || rank(one) - rank(other);
  return held.toSorted(byTime)[0];
}

function rank({ source }: HeldLicense): number {
  return source === "uploaded" ? 0 : 1;
}

function endOf({ expiresAt }: LicenseTerms): number {
  return expiresAt ?? Number.MAX_SAFE_INTEGER;
}
