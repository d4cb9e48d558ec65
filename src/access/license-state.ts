import type { JsonObject } from "../lib/json.ts";

/** The license as the health endpoints show it. */
export interface LicenseState {
  readonly valid: boolean;
  readonly in_grace: boolean;
  /** RFC 3339, UTC; null for a license without end. */
  readonly expires_at: string | null;
  /** Whole days to the expiry, in grace to its end, then 0; null for a license without end. */
  readonly days_left: number | null;
  readonly warning: string | null;
}

const DAY_MS = 86_400_000;
/** Without a license everything works for this long from the first start. */
const EVALUATION_DAYS = 30;
const GRACE_DAYS = 14;

/**
 * The state of an installation without a license: a pure function of when it was first started and the time.
 *
 * @param installedAt Unix milliseconds of the first start.
 * @param now Unix milliseconds.
 */
export function evaluationState(installedAt: number, now: number): LicenseState & JsonObject {
  const expiresAt = installedAt + EVALUATION_DAYS * DAY_MS;
  const graceEndsAt = expiresAt + GRACE_DAYS * DAY_MS;
  const end = now < expiresAt ? expiresAt : graceEndsAt;
  return {
    valid: now < graceEndsAt,
    in_grace: now >= expiresAt && now < graceEndsAt,
    expires_at: new Date(expiresAt).toISOString(),
    days_left: Math.max(0, Math.ceil((end - now) / DAY_MS)),
    warning: evaluationWarning(now < graceEndsAt, new Date(end)),
  };
}

function evaluationWarning(running: boolean, end: Date): string {
  const day = end.toISOString().slice(0, 10);
  return running
    ? `No license is set. The evaluation runs until ${day}; please upload a license.`
    : `No license is set and the evaluation ended on ${day}; please upload a license.`;
}
