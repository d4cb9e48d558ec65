import { join } from "node:path";
import type { Secret } from "../access/secret.ts";
import { journalsFolder } from "../config/folders.ts";
import { eachWith, type Metric, single } from "../core/metric.ts";
import type { Part } from "../core/part.ts";
import type { Base } from "../db/base.ts";
import { StartRefusal } from "../lib/folders/start-refusal.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { chooseLicense, createLicenseStanding } from "./current-license.ts";
import { type EffectiveTime, openEffectiveTime } from "./effective-time.ts";
import { acceptLicense, LicenseRefusal, type LicenseTerms } from "./license-file.ts";
import { type HeldLicense, openLicenseSources } from "./license-sources.ts";
import { joinWarnings, type LicenseState, reportChanges } from "./license-state.ts";
import { countGpus, openDeviceId } from "./machine.ts";
import { createSeenTimeSeal } from "./seen-time.ts";
import { createSeenTimeStore } from "./seen-time-store.ts";
import { openVerificationKey, type VerificationKey } from "./verification-key.ts";

/** The license in force. Every method answers from memory, for the moment of the call. */
export interface License extends Part {
  /** As the health endpoints show it. */
  readonly state: () => LicenseState & JsonObject;
  /** True once the grace period is over: everything that the license gate protects is then refused. */
  readonly isInvalid: () => boolean;
  /** The value of `X-Service-License-Warning`; undefined except in grace. */
  readonly graceWarning: () => string | undefined;
  /** The maximum number of users. */
  readonly maxUsers: () => number;
  /** The license in force; undefined in the evaluation. */
  readonly inForce: () => HeldLicense | undefined;
  /** The number of GPUs that the drivers report. */
  readonly gpus: () => number;
  /** The device to which a license can be bound. */
  readonly deviceId: string;
  /** Reads a file that could be in force now. Throws a `LicenseRefusal`. */
  readonly check: (file: string) => LicenseTerms;
  /** Loads an upload that has been committed. Never rejects. */
  readonly catchUp: () => Promise<void>;
  /** Stores the time and releases all resources. Never rejects. */
  readonly close: () => Promise<void>;
}

export interface OpenLicenseOptions {
  readonly secret: Secret;
  /** Unix milliseconds of the first start, from the database. */
  readonly installedAt: number;
  /** Default: the key of the settings, else the vendor's. */
  readonly verificationKey?: VerificationKey;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic?: () => number;
  /** The file system that describes the machine. */
  readonly machineRoot?: string;
}

const EVALUATION_USERS = 5;
const DAY_SECONDS = 86_400;
const TEST_CLOCK =
  "TEST_CLOCK_FILE moves the clock, which no license of the vendor's allows: unset it.";

/** Determines the installation's license, and follows it until closed. Throws a `StartRefusal`. */
export async function openLicense(base: Base, options: OpenLicenseOptions): Promise<License> {
  const { settings, database, log } = base;
  const { machineRoot = "/", verificationKey = openVerificationKey(settings) } = options;
  const { key, isBuiltIn } = verificationKey;
  const isClockMoved = isBuiltIn && settings.TEST_CLOCK_FILE !== undefined;
  const time = await openTime(base, options);
  const deviceId = await openDeviceId(database, machineRoot);
  const held = await openLicenseSources({
    database,
    path: settings.LICENSE_FILE ?? join(settings.DATA_DIR, "license.lic"),
    isNamed: settings.LICENSE_FILE !== undefined,
    accept(file) {
      const terms = acceptLicense(file, { key, deviceId });
      if (isClockMoved) throw new StartRefusal(TEST_CLOCK);
      return terms;
    },
    log,
  });
  const standing = createLicenseStanding({ time, held, settings });
  let gpus = await countGpus(machineRoot);

  const state = (): LicenseState & JsonObject => {
    const { state: own, inForce } = standing();
    const maxGpus = inForce?.terms.maxGpus ?? null;
    return {
      ...own,
      warning: joinWarnings(own.warning, { gpus, maxGpus, behindMs: time.behindMs() }),
    };
  };
  const report = reportChanges(log, state);
  const recheck = async (): Promise<void> => {
    await time.look();
    await held.catchUp();
    gpus = await countGpus(machineRoot);
    report();
  };
  report();
  let rechecking = Promise.resolve();
  const timer = setInterval(() => {
    rechecking = rechecking.then(recheck);
  }, settings.LICENSE_RECHECK_INTERVAL_SEC * 1000).unref();

  return {
    state,
    isInvalid: () => standing().phase === "invalid",
    graceWarning: () => standing().graceWarning,
    maxUsers: () => standing().inForce?.terms.maxUsers ?? EVALUATION_USERS,
    inForce: () => standing().inForce,
    gpus: () => gpus,
    deviceId,
    check(file) {
      if (isClockMoved) throw new LicenseRefusal(TEST_CLOCK);
      const terms = acceptLicense(file, { key, deviceId });
      refuseWithoutEffect(terms, held.all(), time.now());
      return terms;
    },
    async catchUp() {
      await held.catchUp();
      report();
    },
    metrics: licenseMetrics(state),
    async close() {
      clearInterval(timer);
      held.close();
      await rechecking;
      await time.look();
    },
  };
}

/** Throws a `LicenseRefusal` for an upload that would not be in force: it has expired, or a placed one outranks it. */
function refuseWithoutEffect(terms: LicenseTerms, held: readonly HeldLicense[], now: number): void {
  if (terms.expiresAt !== null && terms.expiresAt <= now) {
    throw new LicenseRefusal(`The license expired on ${dayOf(terms.expiresAt)}.`);
  }
  const placed = held.filter(({ source }) => source === "placed");
  const chosen = chooseLicense([{ source: "uploaded", terms }, ...placed], now);
  if (chosen?.source !== "placed") return;
  throw new LicenseRefusal(
    `The license was issued on ${dayOf(terms.issuedAt)}, before the one that is placed on the server, of ` +
      `${dayOf(chosen.terms.issuedAt)}, which stays in force. To use the older one, remove LICENSE_FILE or ` +
      "DATA_DIR/license.lic and restart.",
  );
}

/** Returns the UTC day of Unix milliseconds. */
function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function licenseMetrics(read: () => LicenseState): readonly Metric[] {
  return [
    {
      name: "svc_license_state",
      type: "gauge",
      help: "1 for the state that the license or the evaluation is in, 0 for the others.",
      labels: ["state"],
      read() {
        const { valid: isValid, in_grace: isGrace } = read();
        const states = { valid: isValid && !isGrace, grace: isValid && isGrace, invalid: !isValid };
        return eachWith("state", states, single);
      },
    },
    {
      name: "svc_license_remaining_seconds",
      type: "gauge",
      help: "Time to the license's expiry, in grace to the grace's end, in whole days; +Inf for a license without end.",
      labels: [],
      read() {
        const { days_left: days } = read();
        return single(days === null ? Number.POSITIVE_INFINITY : days * DAY_SECONDS);
      },
    },
  ];
}

function openTime(
  { database, settings, clock, log }: Base,
  { secret, installedAt, monotonic = () => performance.now() }: OpenLicenseOptions,
): Promise<EffectiveTime> {
  const seal = createSeenTimeSeal(secret);
  const journals = journalsFolder(settings);
  const store = createSeenTimeStore({ database, seal, folder: settings.DATA_DIR, journals, log });
  return openEffectiveTime({ clock, monotonic, store, installedAt, log });
}
