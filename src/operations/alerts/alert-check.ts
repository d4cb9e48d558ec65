import { setTimeout as sleep } from "node:timers/promises";
import type { AlertRule, Finding } from "../../core/part.ts";
import type { Db } from "../../db/context.ts";
import { DatabaseError, isUnavailable, toDatabaseError } from "../../db/database-error.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { within } from "../../lib/time/within.ts";
import { raiseFinding } from "./raise-finding.ts";
import { pruneSuppressions } from "./send-alert.ts";

const QUERY_TIMEOUT_MS = 20_000;
/** Maximum of alerts of one type per check; the rest waits for the next one. */
const ALERTS_MAX = 100;
const CLOSE_MS = 1_000;
/** The outcome of alerts that are not tried after the first one has found the database unavailable. */
const AWAY = new DatabaseError("CONNECT_TIMEOUT", "The database is away.");

export interface AlertCheckOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  /** Read at each check. */
  readonly rules: () => readonly AlertRule[];
  /** Woken when an alert is to be posted; undefined: alerts are only logged. */
  readonly webhook: { readonly wake: () => void } | undefined;
}

/** Evaluates the alert rules of all areas, and sends alerts for their findings. */
export interface AlertCheck {
  /**
   * Checks once; runs one at a time. A rule or an alert that fails is retried by the next check. Rejects at its end
   * when one failed for a reason other than an unavailable database.
   */
  readonly run: () => Promise<void>;
  /** Starts no further alert; resolves when the check in progress has ended, or soon. */
  readonly close: () => Promise<void>;
}

export function createAlertCheck(options: AlertCheckOptions): AlertCheck {
  const check = new Check(options);
  return { run: () => check.run(), close: () => check.close() };
}

/** A finding of the last check. */
interface Present {
  readonly rule: AlertRule;
  readonly finding: Finding;
  /** Its alert could not be sent yet. */
  readonly isWaiting: boolean;
}

/**
 * The outcome of a finding: `suppressed` by an alert in the same window, or the reason why the database did not take
 * one.
 */
type Outcome = "sent" | "suppressed" | DatabaseError;

/** Exceptions by type of alert. */
type Failures = Map<string, unknown>;

class Check {
  readonly #options: AlertCheckOptions;
  /** By type and subject. */
  readonly #present = new Map<string, Present>();
  /** Types whose rules could not be evaluated at the last check. */
  #unknown: readonly string[] = [];
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: AlertCheckOptions) {
    this.#options = options;
  }

  run(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#running ??= this.#check().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const ended = this.#running?.catch(() => undefined);
    await Promise.race([ended, sleep(CLOSE_MS, undefined, { ref: false })]);
  }

  async #check(): Promise<void> {
    const { rules, clock } = this.#options;
    const failures: Failures = new Map();
    const unsent: Failures = new Map();
    for (const rule of rules()) {
      if (this.#isClosed) return;
      try {
        const findings = await inTime(rule.find(clock.now()));
        this.#logEnded(rule, findings);
        await this.#sendAll(rule, findings, unsent);
      } catch (thrown) {
        failures.set(rule.type, thrown);
      }
    }
    this.#logUnknown(failures);
    if (failures.size === 0) await this.#prune();
    // A failure while the server stops is not a fault.
    if (!this.#isClosed) rejectOnFaults([...failures, ...unsent]);
  }

  /** Logs only that the database is unavailable; the job runner logs the other failures. */
  #logUnknown(failures: Failures): void {
    const { log } = this.#options;
    const types = [...failures.keys()];
    const away = [...failures.values()].map(toDatabaseError).filter(isUnavailable);
    if (away.length > 0 && types.some((type) => !this.#unknown.includes(type)))
      log.warn({ types, cause: away[0]?.message }, "these alerts cannot be checked now");
    const known = this.#unknown.filter((type) => !failures.has(type));
    if (known.length > 0) log.info({ types: known }, "these alerts can be checked again");
    this.#unknown = types;
  }

  #logEnded(rule: AlertRule, findings: readonly Finding[]): void {
    const found = new Set(findings.map((finding) => keyOf(rule, finding)));
    for (const [key, { rule: owner, finding }] of this.#present) {
      if (owner !== rule || found.has(key)) continue;
      this.#present.delete(key);
      const { over, details } = finding;
      if (over !== undefined) this.#options.log.info({ type: rule.type, ...details }, over);
    }
  }

  async #sendAll(rule: AlertRule, findings: readonly Finding[], unsent: Failures): Promise<void> {
    let sent = 0;
    let isAway = false;
    for (const finding of findings) {
      if (this.#isClosed || sent === ALERTS_MAX) return;
      const key = keyOf(rule, finding);
      const before = this.#present.get(key);
      if (isSettled(rule, finding, before)) continue;
      const outcome: Outcome = isAway ? AWAY : await this.#raise(rule, finding);
      isAway = outcome instanceof DatabaseError && isUnavailable(outcome);
      if (outcome === "sent") sent += 1;
      if (outcome instanceof DatabaseError) unsent.set(rule.type, outcome);
      this.#present.set(key, { rule, finding, isWaiting: outcome instanceof DatabaseError });
      this.#log(rule, finding, outcome, before);
    }
  }

  /** Never rejects. */
  async #raise(rule: AlertRule, finding: Finding): Promise<Outcome> {
    const { db, clock, webhook } = this.#options;
    const options = { now: clock.now(), hasWebhook: webhook !== undefined };
    try {
      if (!(await inTime(raiseFinding(db, rule, finding, options)))) return "suppressed";
    } catch (thrown) {
      return toDatabaseError(thrown);
    }
    webhook?.wake();
    return "sent";
  }

  #log(
    { type }: AlertRule,
    { text, details, over }: Finding,
    outcome: Outcome,
    before: Present | undefined,
  ): void {
    const { log } = this.#options;
    if (outcome === "sent") log.warn({ type, ...details }, text);
    else if (outcome !== "suppressed") {
      const facts = { type, ...details, cause: outcome.message };
      if (before?.isWaiting !== true)
        log.warn(facts, `an alert is delayed until the database is reachable: ${text}`);
    } else if (over !== undefined && before === undefined) {
      // The finding returned within the window of its last alert, or this process has only now seen it.
      log.info({ type, ...details }, `${text} An alert about it was sent recently.`);
    }
  }

  async #prune(): Promise<void> {
    const { db, clock, log } = this.#options;
    const lasting = [...this.#present].filter(([, { rule }]) => rule.window === "while it lasts");
    const keys = lasting.map(([key]) => key);
    await inTime(pruneSuppressions(db, clock.now(), keys)).catch((thrown: unknown) => {
      const error = toDatabaseError(thrown);
      // The next check prunes again.
      if (!isUnavailable(error))
        log.error({ cause: error.message }, "old alert records could not be deleted");
    });
  }
}

function rejectOnFaults(failures: readonly (readonly [type: string, thrown: unknown])[]): void {
  const faults = failures.filter(([, thrown]) => !isUnavailable(toDatabaseError(thrown)));
  if (faults.length === 0) return;
  const texts = faults.map(([type, thrown]) => `${type}: ${toDatabaseError(thrown).message}`);
  throw new Error(`These alerts fail. ${texts.join(" ")}`, { cause: faults[0]?.[1] });
}

/** Returns the key that the table of sent alerts uses. */
function keyOf({ type }: AlertRule, { subject }: Finding): string {
  return `${type} ${subject}`;
}

/** Returns whether an alert in the same window was sent, by any replica. A window that is a length of time moves on. */
function isSettled(
  { window }: AlertRule,
  { since }: Finding,
  before: Present | undefined,
): boolean {
  if (before === undefined || before.isWaiting || typeof window === "number") return false;
  return before.finding.since === since;
}

function inTime<Result>(work: Promise<Result>): Promise<Result> {
  return within(
    work,
    QUERY_TIMEOUT_MS,
    () => new DatabaseError("CONNECT_TIMEOUT", "The query timed out."),
  );
}
