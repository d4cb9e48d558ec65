import { join } from "node:path";
import type { Secret } from "../access/secret.ts";
import { journalsFolder } from "../config/folders.ts";
import type { Settings } from "../config/settings.ts";
import type { Database } from "../db/database.ts";
import type { Clock } from "../lib/clock.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Log } from "../lib/log.ts";
import { StartRefusal } from "../lib/start-refusal.ts";
import { createLicenseStanding } from "./current-license.ts";
import { type EffectiveTime, openEffectiveTime } from "./effective-time.ts";
import { acceptLicense, LicenseRefusal, type LicenseTerms } from "./license-file.ts";
import { type HeldLicense, openLicenseSources } from "./license-sources.ts";
import { joinWarnings, type LicenseState, reportChanges } from "./license-state.ts";
import { countGpus, openDeviceId } from "./machine.ts";
import { createSeenTimeSeal } from "./seen-time.ts";
import { createSeenTimeStore } from "./seen-time-store.ts";
import type { VerificationKey } from "./verification-key.ts";

/** The license in force. Every question is answered from memory, for the moment it is asked. */
export interface License {
  /** As the health endpoints show it. */
  readonly state: () => LicenseState & JsonObject;
  /** True once the grace is over: what the license gate stands before is refused. */
  readonly isInvalid: () => boolean;
  /** The value of `X-Service-License-Warning`; undefined but in grace. */
  readonly graceWarning: () => string | undefined;
  /** How many users there may be. */
  readonly maxUsers: () => number;
  /** The license that counts now; undefined in the evaluation. */
  readonly inForce: () => HeldLicense | undefined;
  /** How many GPUs the drivers show. */
  readonly gpus: () => number;
  /** What a license is bound to. */
  readonly deviceId: string;
  /** Reads a file that could be in force now. Throws a `LicenseRefusal`. */
  readonly check: (file: string) => LicenseTerms;
  /** Takes in an upload that is committed by now. Never rejects. */
  readonly catchUp: () => Promise<void>;
  /** Keeps the time and lets go. Never rejects. */
  readonly close: () => Promise<void>;
}

export interface OpenLicenseOptions {
  readonly database: Pick<Database, "db" | "askOwn" | "kind">;
  readonly settings: Pick<
    Settings,
    | "DATA_DIR"
    | "JOURNAL_DIR"
    | "LICENSE_FILE"
    | "LICENSE_GRACE_DAYS"
    | "LICENSE_WARN_DAYS"
    | "LICENSE_RECHECK_INTERVAL_SEC"
    | "TEST_CLOCK_FILE"
  >;
  readonly verificationKey: VerificationKey;
  readonly secret: Secret;
  /** Unix milliseconds of the first start, as the database has it. */
  readonly installedAt: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds of a clock that nobody can set. */
  readonly monotonic?: () => number;
  /** The file system that tells of the machine. */
  readonly machineRoot?: string;
}

const EVALUATION_USERS = 5;
const TEST_CLOCK =
  "TEST_CLOCK_FILE moves the clock, which no license of the vendor's allows: unset it.";

/** Finds out what the installation runs on, and follows it until closed. Throws a `StartRefusal`. */
export async function openLicense(options: OpenLicenseOptions): Promise<License> {
  const { settings, log, machineRoot = "/" } = options;
  const { key, isBuiltIn } = options.verificationKey;
  const isClockMoved = isBuiltIn && settings.TEST_CLOCK_FILE !== undefined;
  const time = await openTime(options);
  const deviceId = await openDeviceId(options.database, machineRoot);
  const held = await openLicenseSources({
    database: options.database,
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
      if (terms.expiresAt === null || terms.expiresAt > time.now()) return terms;
      const day = new Date(terms.expiresAt).toISOString().slice(0, 10);
      throw new LicenseRefusal(`The license expired on ${day}.`);
    },
    async catchUp() {
      await held.catchUp();
      report();
    },
    async close() {
      clearInterval(timer);
      held.close();
      await rechecking;
      await time.look();
    },
  };
}

function openTime(options: OpenLicenseOptions): Promise<EffectiveTime> {
  const { database, settings, secret, installedAt, clock, log } = options;
  const seal = createSeenTimeSeal(secret);
  const journals = journalsFolder(settings);
  const store = createSeenTimeStore({ database, seal, folder: settings.DATA_DIR, journals, log });
  const { monotonic = () => performance.now() } = options;
  return openEffectiveTime({ clock, monotonic, store, installedAt, log });
}
