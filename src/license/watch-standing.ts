import type { Settings } from "../config/settings.ts";
import { chooseLicense, type HeldLicense } from "./choose-license.ts";
import type { EffectiveTime } from "./effective-time.ts";
import type { HeldLicenses } from "./held-licenses.ts";
import { type LicenseStanding, licenseStanding } from "./license-state.ts";

export interface CurrentStanding extends LicenseStanding {
  /** The license that counts; undefined in the evaluation. */
  readonly inForce: HeldLicense | undefined;
}

export interface StandingSources {
  readonly time: Pick<EffectiveTime, "now" | "installedAt">;
  readonly held: Pick<HeldLicenses, "all">;
  readonly settings: Pick<Settings, "LICENSE_GRACE_DAYS" | "LICENSE_WARN_DAYS">;
}

/**
 * Makes what tells where the license stands at the moment. It is asked with every request, so it is worked out once for
 * all until it changes.
 */
export function watchStanding({ time, held, settings }: StandingSources): () => CurrentStanding {
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
