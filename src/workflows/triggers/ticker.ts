import { eq } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { workflows } from "../../db/tables/workflows.ts";
import { causeOf } from "../../lib/log.ts";
import { LookTimer } from "../../queue/look-timer.ts";
import type { RowChunk } from "../rows/row.ts";
import { acceptRun } from "../runs/accept/accept-runs.ts";
import { type Acceptance, announceAcceptances } from "../runs/accept/acceptance.ts";
import { lockQueue } from "../runs/accept/lock-queue.ts";
import type { WorkflowStore } from "../workflow-store.ts";
import { packFact, tickRow } from "./fact-rows.ts";
import { lastTick, readTicks, ScheduleFault, type ScheduleTrigger } from "./next-tick.ts";
import { NO_TICK, tickAfter, UNREAD_PAUSE_MS } from "./save-schedules.ts";
import {
  moveSchedule,
  readDue,
  readNextDue,
  readSchedulesAfter,
  type Schedule,
} from "./schedule-rows.ts";

/** Schedules that are saved on another replica, and a clock that was set forward, are seen this soon. */
const LOOK_INTERVAL_MS = 5_000;
/** Replicas look a little apart, so that they do not all try the same tick. */
const JITTER_MS = 250;
/** After missed ticks one run starts, if the last of them is younger than this. */
const CATCH_UP_MS = 3_600_000;
/**
 * A schedule whose next tick is later than this allows was moved on while the clock was wrong. Within it the schedule
 * waits for the clock, so that no tick comes twice.
 */
const CLOCK_BACK_MS = 2 * 3_600_000;
/** Schedules that one look reads at once. */
const PAGE_ROWS = 100;
/** A due schedule that this replica cannot read is left for this long to others, which may be of another release. */
const LEFT_TO_OTHERS_MS = 60_000;
/** Without a look for this long the schedules stand still. */
const LATE_MS = 60_000;

export type TickerStore = Pick<
  WorkflowStore,
  "settings" | "database" | "clock" | "log" | "isLicensed" | "discards" | "wakeRuns"
>;

/** Starts scheduled workflows. Every replica has one; whichever is first takes a tick. */
export interface Ticker {
  /** Starts what is due. Resolves when it is done; never rejects. */
  readonly look: () => Promise<void>;
  /** False when the last complete look is too long ago. */
  readonly isOnTime: () => boolean;
  readonly close: () => Promise<void>;
}

/** @param elapsedMs of a monotonic clock. */
export function openTicker(
  store: TickerStore,
  elapsedMs: () => number = () => performance.now(),
): Ticker {
  const ticker = new ScheduleTicker(store, elapsedMs);
  ticker.start();
  return {
    look: () => ticker.look(),
    isOnTime: () => ticker.isOnTime(),
    close: () => ticker.close(),
  };
}

class ScheduleTicker {
  readonly #store: TickerStore;
  readonly #elapsedMs: () => number;
  readonly #looks = new LookTimer(() => this.look(), LOOK_INTERVAL_MS);
  /** The clock at the last look; undefined before the first one. */
  #lookedAt: number | undefined;
  #succeededAt: number;
  #isAway = false;
  /** The workflows whose schedules this replica cannot read, as far as it was said. */
  readonly #unread = new Set<string>();

  constructor(store: TickerStore, elapsedMs: () => number) {
    this.#store = store;
    this.#elapsedMs = elapsedMs;
    this.#succeededAt = elapsedMs();
  }

  start(): void {
    this.#looks.lookIn(Math.random() * JITTER_MS);
  }

  isOnTime(): boolean {
    return this.#elapsedMs() - this.#succeededAt < LATE_MS;
  }

  close(): Promise<void> {
    return this.#looks.stop();
  }

  async look(): Promise<void> {
    const { clock, database, log } = this.#store;
    const now = clock.now();
    try {
      if (this.#lookedAt === undefined || now < this.#lookedAt - CLOCK_BACK_MS)
        await this.#repair(now);
      this.#lookedAt = now;
      const due = await database.askOwn((db) => readDue(db, now, PAGE_ROWS));
      let moved = 0;
      for (const schedule of inAnyOrder(due)) if (await this.#tick(schedule, now)) moved += 1;
      const nextAt = await database.askOwn(readNextDue);
      this.#succeededAt = this.#elapsedMs();
      if (this.#isAway) log.info("schedules are followed again");
      this.#isAway = false;
      // A tick that failed or was left stays due; it is tried again at the next interval.
      const isMore = due.length === PAGE_ROWS && moved > 0;
      const pauseMs = isMore ? 0 : (nextAt ?? Number.POSITIVE_INFINITY) - now;
      if (pauseMs >= 0 && pauseMs < LOOK_INTERVAL_MS) {
        this.#looks.lookIn(pauseMs + Math.random() * JITTER_MS);
      }
    } catch (thrown) {
      if (!this.#isAway) log.warn({ cause: causeOf(thrown) }, "schedules wait for the database");
      this.#isAway = true;
    }
  }

  /**
   * Moves a due schedule on, and starts its workflow, in one transaction: so each tick is taken once. Resolves with false
   * when it stays due.
   */
  async #tick(schedule: Schedule, now: number): Promise<boolean> {
    const { database, log } = this.#store;
    const { workflowId, trigger, isEnabled } = schedule;
    try {
      if (!isEnabled) {
        await database.askOwn((db) => moveSchedule(db, schedule, NO_TICK));
        return true;
      }
      if (trigger === undefined) return await this.#leave(schedule, "it has no such trigger", now);
      const due = lastDue(schedule, trigger, now);
      const rows = due === undefined ? [] : await packFact(tickRow(due));
      const acceptance = await database.askOwn((db) =>
        withTransaction(db, async (transaction) => {
          // Who accepts runs locks the queue first, and who saves a workflow locks it before its schedules.
          await lockQueue(transaction, workflowId);
          await transaction
            .select({ id: workflows.id })
            .from(workflows)
            .where(eq(workflows.id, workflowId))
            .for("key share");
          const nextAt = tickAfter(trigger, schedule.savedAt, now);
          const isTaken = await moveSchedule(transaction, schedule, nextAt);
          if (!isTaken || due === undefined) return undefined;
          return this.#accept(transaction, { schedule, trigger, due, rows });
        }),
      );
      if (acceptance !== undefined) announceAcceptances(this.#store, [acceptance]);
      return true;
    } catch (thrown) {
      if (thrown instanceof ScheduleFault) return this.#leave(schedule, thrown.message, now);
      log.warn({ err: thrown, workflow: workflowId }, "a scheduled run could not be accepted");
      return false;
    }
  }

  /**
   * Leaves a due schedule that cannot be read here to the other replicas, and lets it wait when none of them has taken it.
   * Resolves with whether it waits now.
   */
  async #leave(schedule: Schedule, cause: string, now: number): Promise<boolean> {
    const { database } = this.#store;
    this.#reportUnread(schedule, cause);
    if (now - schedule.nextAt.getTime() < LEFT_TO_OTHERS_MS) return false;
    const later = new Date(now + UNREAD_PAUSE_MS);
    await database.askOwn((db) => moveSchedule(db, schedule, later));
    return true;
  }

  #reportUnread({ workflowId }: Schedule, cause: string): void {
    if (this.#unread.has(workflowId)) return;
    this.#unread.add(workflowId);
    this.#store.log.warn(
      { workflow: workflowId, cause },
      "a schedule cannot be read and starts nothing here: save its workflow with another one",
    );
  }

  #accept(transaction: Db, { schedule, trigger, due, rows }: Tick): Promise<Acceptance> {
    const { cron, every, timezone, coalesce } = trigger;
    const at = new Date(due).toISOString();
    return acceptRun(transaction, this.#store, schedule.workflowId, {
      trigger: { kind: "schedule", ...(cron && { cron }), ...(every && { every }), timezone, at },
      triggerKey: schedule.triggerKey,
      rows,
      fact: { fact: at, remembersDiscard: true },
      coalesce,
      atMostOneWaiting: true,
    });
  }

  /** Brings back schedules that were moved on while the clock was ahead, and those without a tick that have one again. */
  async #repair(now: number): Promise<void> {
    const { database } = this.#store;
    let last: Schedule | undefined;
    for (;;) {
      const page = await database.askOwn((db) => readSchedulesAfter(db, last, PAGE_ROWS));
      for (const schedule of page) {
        try {
          const nextAt = repairedTick(schedule, now);
          if (nextAt !== undefined) {
            await database.askOwn((db) => moveSchedule(db, schedule, nextAt));
          }
        } catch (thrown) {
          if (!(thrown instanceof ScheduleFault)) throw thrown;
          this.#reportUnread(schedule, thrown.message);
        }
      }
      last = page.at(-1);
      if (page.length < PAGE_ROWS) return;
    }
  }
}

interface Tick {
  readonly schedule: Schedule;
  readonly trigger: ScheduleTrigger;
  /** Unix milliseconds. */
  readonly due: number;
  readonly rows: readonly RowChunk[];
}

/** The next tick of a schedule that was moved on too far; undefined where it need not be moved. */
function repairedTick(schedule: Schedule, now: number): Date | undefined {
  const { trigger, isEnabled, savedAt, nextAt } = schedule;
  if (!isEnabled || trigger === undefined) return undefined;
  const latest = tickAfter(trigger, savedAt, now + CLOCK_BACK_MS);
  return nextAt.getTime() <= latest.getTime() ? undefined : tickAfter(trigger, savedAt, now);
}

/** The last tick that is due; undefined when it was missed for too long. */
function lastDue({ savedAt, nextAt }: Schedule, trigger: ScheduleTrigger, now: number) {
  const after = Math.max(nextAt.getTime() - 1, now - CATCH_UP_MS);
  return lastTick(readTicks(trigger, savedAt.getTime()), after, now);
}

/** Replicas that are woken by the same tick begin at different ends of what is due. */
function inAnyOrder(schedules: readonly Schedule[]): readonly Schedule[] {
  const from = Math.floor(Math.random() * schedules.length);
  return [...schedules.slice(from), ...schedules.slice(0, from)];
}
