import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../../db/context.ts";
import { DatabaseError, isUnavailable, toDatabaseError } from "../../db/database-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/within.ts";
import type { AlertFacts } from "./alert-facts.ts";
import type { AlertRule, AlertSettings, Finding } from "./alert-rule.ts";
import { ALERT_RULES } from "./alert-rules.ts";
import { pruneSuppressions } from "./prune-suppressions.ts";
import { raiseFinding } from "./raise-finding.ts";

const QUERY_TIMEOUT_MS = 20_000;
/** Alerts of one type sent by one look; the rest waits for the next. */
const ALERTS_MAX = 100;
const LAST_WORDS_MS = 1_000;
/** For what is not tried after the first alert has found the database away. */
const AWAY = new DatabaseError("CONNECT_TIMEOUT", "The database is away.");

export interface AlertCheckOptions {
  readonly settings: AlertSettings;
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly facts: AlertFacts;
  /** Who is to be woken when an alert is to be posted; undefined leaves alerts to the log alone. */
  readonly webhook: { readonly wake: () => void } | undefined;
}

/** Looks for what the rules of alerts warn of. */
export interface AlertCheck {
  /**
   * One look, one at a time. What cannot be looked at or told now is so at the next. Rejects at its end when that is for
   * another reason than that the database is away.
   */
  readonly run: () => Promise<void>;
  /** Begins no further alert; resolves when the look under way is over, or soon. */
  readonly close: () => Promise<void>;
}

export function createAlertCheck(options: AlertCheckOptions): AlertCheck {
  const check = new Check(options);
  return { run: () => check.run(), close: () => check.close() };
}

/** A finding of the last look. */
interface Present {
  readonly rule: AlertRule;
  readonly finding: Finding;
  /** Its alert could not be sent yet. */
  readonly isWaiting: boolean;
}

/** Of a finding: `silenced` by an alert in the same window, or what kept the database from taking one. */
type Outcome = "sent" | "silenced" | DatabaseError;

/** What was thrown, by type of alert. */
type Failures = Map<string, unknown>;

class Check {
  readonly #options: AlertCheckOptions;
  /** By type and subject. */
  readonly #present = new Map<string, Present>();
  /** Types whose facts could not be had at the last look. */
  #unknown: readonly string[] = [];
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: AlertCheckOptions) {
    this.#options = options;
  }

  run(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#running ??= this.#look().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const ended = this.#running?.catch(() => undefined);
    await Promise.race([ended, sleep(LAST_WORDS_MS, undefined, { ref: false })]);
  }

  async #look(): Promise<void> {
    const { facts, settings, clock } = this.#options;
    const failures: Failures = new Map();
    const unsent: Failures = new Map();
    for (const rule of ALERT_RULES) {
      if (this.#isClosed) return;
      try {
        const findings = await inTime(rule.find(facts, settings, clock.now()));
        this.#sayWhatIsOver(rule, findings);
        await this.#tell(rule, findings, unsent);
      } catch (thrown) {
        failures.set(rule.type, thrown);
      }
    }
    this.#sayWhatIsUnknown(failures);
    if (failures.size === 0) await this.#prune();
    // What a stop cuts off is no fault.
    if (!this.#isClosed) rejectOnFaults([...failures, ...unsent]);
  }

  /** What is no matter of waiting is said by who runs the check. */
  #sayWhatIsUnknown(failures: Failures): void {
    const { log } = this.#options;
    const types = [...failures.keys()];
    const away = [...failures.values()].map(toDatabaseError).filter(isUnavailable);
    if (away.length > 0 && types.some((type) => !this.#unknown.includes(type)))
      log.warn(
        { types, cause: away[0]?.message },
        "what these alerts go by cannot be looked at now",
      );
    const known = this.#unknown.filter((type) => !failures.has(type));
    if (known.length > 0)
      log.info({ types: known }, "what these alerts go by can be looked at again");
    this.#unknown = types;
  }

  #sayWhatIsOver(rule: AlertRule, findings: readonly Finding[]): void {
    const found = new Set(findings.map((finding) => keyOf(rule, finding)));
    for (const [key, { rule: owner, finding }] of this.#present) {
      if (owner !== rule || found.has(key)) continue;
      this.#present.delete(key);
      const { over, details } = finding;
      if (over !== undefined) this.#options.log.info({ type: rule.type, ...details }, over);
    }
  }

  async #tell(rule: AlertRule, findings: readonly Finding[], unsent: Failures): Promise<void> {
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
      this.#say(rule, finding, outcome, before);
    }
  }

  /** Resolves with what came of it. Never rejects. */
  async #raise(rule: AlertRule, finding: Finding): Promise<Outcome> {
    const { db, clock, webhook } = this.#options;
    const options = { now: clock.now(), hasWebhook: webhook !== undefined };
    try {
      if (!(await inTime(raiseFinding(db, rule, finding, options)))) return "silenced";
    } catch (thrown) {
      return toDatabaseError(thrown);
    }
    webhook?.wake();
    return "sent";
  }

  #say(
    { type }: AlertRule,
    { text, details, over }: Finding,
    outcome: Outcome,
    before: Present | undefined,
  ): void {
    const { log } = this.#options;
    if (outcome === "sent") log.warn({ type, ...details }, text);
    else if (outcome !== "silenced") {
      const facts = { type, ...details, cause: outcome.message };
      if (before?.isWaiting !== true) log.warn(facts, `an alert waits for the database: ${text}`);
    } else if (over !== undefined && before === undefined) {
      // It is back before it may be warned of again, or this process has only now seen it.
      log.info({ type, ...details }, `${text} An alert said so lately.`);
    }
  }

  async #prune(): Promise<void> {
    const { db, clock, log } = this.#options;
    const lasting = [...this.#present].filter(([, { rule }]) => rule.window === "while it lasts");
    const keys = lasting.map(([key]) => key);
    await inTime(pruneSuppressions(db, clock.now(), keys)).catch((thrown: unknown) => {
      const error = toDatabaseError(thrown);
      // It has time until the next look.
      if (!isUnavailable(error)) log.error({ cause: error.message }, "old alerts were not pruned");
    });
  }
}

function rejectOnFaults(failures: readonly (readonly [type: string, thrown: unknown])[]): void {
  const faults = failures.filter(([, thrown]) => !isUnavailable(toDatabaseError(thrown)));
  if (faults.length === 0) return;
  const said = faults.map(([type, thrown]) => `${type}: ${toDatabaseError(thrown).message}`);
  throw new Error(`These alerts fail. ${said.join(" ")}`, { cause: faults[0]?.[1] });
}

/** As the table of sent alerts has it. */
function keyOf({ type }: AlertRule, { subject }: Finding): string {
  return `${type} ${subject}`;
}

/** An alert in the same window was sent, by whichever replica; a window that is a length of time moves on. */
function isSettled(
  { window }: AlertRule,
  { since }: Finding,
  before: Present | undefined,
): boolean {
  if (before === undefined || before.isWaiting || typeof window === "number") return false;
  return before.finding.since === since;
}

function inTime<Result>(work: Promise<Result>): Promise<Result> {
  return within(work, QUERY_TIMEOUT_MS, () => new DatabaseError("CONNECT_TIMEOUT", "It hangs."));
}
