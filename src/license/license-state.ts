import type { JsonObject } from "../lib/json/json.ts";
import type { Log } from "../lib/log.ts";

/** The license as the health endpoints show it. */
export interface LicenseState {
  readonly valid: boolean;
  readonly in_grace: boolean;
  /** RFC 3339, UTC; null for a perpetual license. */
  readonly expires_at: string | null;
  /** Whole days to the expiry, in grace to its end, then 0; null for a perpetual license. */
  readonly days_left: number | null;
  readonly warning: string | null;
}

/**
 * The basis on which an installation runs: a license, or the evaluation that began with its first start. Unix
 * milliseconds.
 */
export type LicenseBasis =
  | { readonly kind: "license"; readonly expiresAt: number | null }
  | { readonly kind: "evaluation"; readonly installedAt: number };

/** LICENSE_GRACE_DAYS and LICENSE_WARN_DAYS. */
export interface LicenseRules {
  readonly graceDays: number;
  /** Undefined: no warning before the expiry. */
  readonly warnDays: number | undefined;
}

export interface LicenseStanding {
  readonly phase: "valid" | "grace" | "invalid";
  readonly state: LicenseState & JsonObject;
  /** The value of `X-Service-License-Warning`; undefined except in grace. */
  readonly graceWarning: string | undefined;
  /** The standing is valid until then, exclusively; Unix milliseconds, or Infinity. */
  readonly changesAt: number;
}

const DAY_MS = 86_400_000;
/** Without a license everything works for this long from the first start. */
const EVALUATION_DAYS = 30;

/**
 * Returns the standing of a license: a pure function of its basis, the time, and the rules. The expiry belongs to the
 * grace period, and the end of the grace period to the state after it.
 * @param now Unix milliseconds.
 */
export function licenseStanding(
  basis: LicenseBasis,
  now: number,
  { graceDays, warnDays }: LicenseRules,
): LicenseStanding {
  const expiresAt =
    basis.kind === "license" ? basis.expiresAt : basis.installedAt + EVALUATION_DAYS * DAY_MS;
  if (expiresAt === null) return WITHOUT_END;
  const graceEndsAt = expiresAt + graceDays * DAY_MS;
  const phase = phaseAt(now, expiresAt, graceEndsAt);
  const end = phase === "valid" ? expiresAt : graceEndsAt;
  const daysLeft = Math.max(0, Math.ceil((end - now) / DAY_MS));
  const words = basis.kind === "license" ? LICENSE_WORDS : EVALUATION_WORDS;
  const days: Days = { expiry: dayOf(expiresAt), graceEnd: dayOf(graceEndsAt), left: daysLeft };
  const isSoon = warnDays !== undefined && daysLeft <= warnDays;
  const isSaid = phase !== "valid" || isSoon || basis.kind === "evaluation";
  return {
    phase,
    state: {
      valid: phase !== "invalid",
      in_grace: phase === "grace",
      expires_at: new Date(expiresAt).toISOString(),
      days_left: daysLeft,
      warning: isSaid ? words[phase](days) : null,
    },
    graceWarning: phase === "grace" ? words.header(days) : undefined,
    changesAt: phase === "invalid" ? Number.POSITIVE_INFINITY : end - (daysLeft - 1) * DAY_MS,
  };
}

const WITHOUT_END: LicenseStanding = {
  phase: "valid",
  state: { valid: true, in_grace: false, expires_at: null, days_left: null, warning: null },
  graceWarning: undefined,
  changesAt: Number.POSITIVE_INFINITY,
};

function phaseAt(now: number, expiresAt: number, graceEndsAt: number): LicenseStanding["phase"] {
  if (now < expiresAt) return "valid";
  return now < graceEndsAt ? "grace" : "invalid";
}

interface Days {
  readonly expiry: string;
  readonly graceEnd: string;
  readonly left: number;
}
type Words = Readonly<Record<LicenseStanding["phase"] | "header", (days: Days) => string>>;

/** The header's text is ASCII. */
const LICENSE_WORDS: Words = {
  valid: ({ expiry, left }) =>
    `The license expires on ${expiry}: ${left === 1 ? "1 day is" : `${left} days are`} left.`,
  grace: (days) => `${LICENSE_WORDS.header(days)} Before then, upload a new license.`,
  invalid: ({ expiry, graceEnd }) =>
    `License expired on ${expiry} and the grace ended on ${graceEnd}; upload a new license.`,
  header: ({ expiry, graceEnd }) =>
    `License expired on ${expiry}; everything works until ${graceEnd}.`,
};
const EVALUATION_WORDS: Words = {
  valid: ({ expiry }) =>
    `No license is set. The evaluation runs until ${expiry}; upload a license to go on after it.`,
  grace: (days) =>
    `No license is set. ${EVALUATION_WORDS.header(days)} Before then, upload a license.`,
  invalid: ({ expiry, graceEnd }) =>
    `No license is set. Evaluation expired on ${expiry} and the grace ended on ${graceEnd}; upload a license.`,
  header: ({ expiry, graceEnd }) =>
    `Evaluation expired on ${expiry}; everything works until ${graceEnd}.`,
};

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** Facts for the warnings to administrators, besides the license's end. They do not stop anything. */
export interface Circumstances {
  /** Number of GPUs that the drivers report. */
  readonly gpus: number;
  /** Number of GPUs that the license covers; null is any number. */
  readonly maxGpus: number | null;
  /** How far the system's clock is behind the effective time. */
  readonly behindMs: number;
}

/** A clock that is behind by less than this causes no warning. */
const BEHIND_TOLERATED_MS = 3_600_000;

/** Joins all warnings into one text; null without any. */
export function joinWarnings(
  warning: string | null,
  { gpus, maxGpus, behindMs }: Circumstances,
): string | null {
  const warnings = warning === null ? [] : [warning];
  if (maxGpus !== null && gpus > maxGpus) {
    warnings.push(`The license covers ${maxGpus} GPUs, and ${gpus} were found.`);
  }
  if (behindMs > BEHIND_TOLERATED_MS) {
    warnings.push(
      "The system's clock is behind the latest time it has shown, which is what counts; set it right.",
    );
  }
  return warnings.length === 0 ? null : warnings.join(" ");
}

/** Creates a function that logs the license, at first and then whenever more than the days left has changed. */
export function reportChanges(log: Log, state: () => LicenseState): () => void {
  let last = "";
  return () => {
    const license = state();
    const { days_left: _daily, ...told } = license;
    const text = JSON.stringify(told);
    if (text === last) return;
    last = text;
    if (license.warning === null) log.info({ license }, "license");
    else log.warn({ license }, "license");
  };
}
