import type { Settings } from "../config/settings.ts";
import type { EffectiveTime } from "./effective-time.ts";
import type { LicenseTerms } from "./license-file.ts";
import type { HeldLicense, LicenseSources } from "./license-sources.ts";
import { type LicenseStanding, licenseStanding } from "./license-state.ts";

/**
 * Chooses the license in force. Of the unexpired ones it is the one issued last: the vendor's latest decision counts,
 * even where it allows less. When all have expired it is the one that expired last. Of equals it is the uploaded one.
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

export interface CurrentStanding extends LicenseStanding {
  /** The license in force; undefined in the evaluation. */
  readonly inForce: HeldLicense | undefined;
}

export interface StandingSources {
  readonly time: Pick<EffectiveTime, "now" | "installedAt">;
  readonly held: Pick<LicenseSources, "all">;
  readonly settings: Pick<Settings, "LICENSE_GRACE_DAYS" | "LICENSE_WARN_DAYS">;
}

/**
 * Creates a function that returns the license's present standing. It is called with every request, so the result is
 * cached until it changes.
 */
export function createLicenseStanding({
  time,
  held,
  settings,
}: StandingSources): () => CurrentStanding {
  const { LICENSE_GRACE_DAYS: graceDays, LICENSE_WARN_DAYS: warnDays } = settings;
  let current: CurrentStanding | undefined;
  let since = 0;
  let among: readonly HeldLicense[] | undefined;
  const standAt = (now: number): CurrentStanding => {
    const inForce = chooseLicense(held.all(), now);
    const basis =
      inForce === undefined
        ? { kind: "evaluation" as const, installedAt: time.installedAt() }
        : { kind: "license" as const, expiresAt: inForce.terms.expiresAt };
    return { ...licenseStanding(basis, now, { graceDays, warnDays }), inForce };
  };
  return () => {
    const now = time.now();
    const licenses = held.all();
    // A clock that was wrong may have gone back.
    const holds = licenses === among && now >= since && now < (current?.changesAt ?? 0);
    if (current !== undefined && holds) return current;
    current = standAt(now);
    since = now;
    among = licenses;
    return current;
  };
}
