import type { JsonObject } from "../lib/json/json.ts";
import type { Metric } from "./metric.ts";

/**
 * What an area brings along beside its API. Nothing else has to be edited for one more job, metric, alert or check: the
 * runner of each kind reads the list of opened parts.
 *
 * @typeParam Store the database handle that `refreshStored` gets; areas without stored figures need not know it.
 */
export interface Part<Store = unknown> {
  readonly jobs?: readonly Job[];
  readonly metrics?: readonly Metric[];
  /**
   * Reads the figures that are in the database, before a scrape. All parts share one connection, one after another. When
   * it rejects, or takes longer than DB_POOL_WAIT_MS, the metrics show what was read last.
   *
   * @param now Unix milliseconds.
   */
  readonly refreshStored?: (store: Store, now: number) => Promise<void>;
  /** Reads the figures of another process or file before a scrape, which waits for it no longer than DB_POOL_WAIT_MS. */
  readonly refresh?: () => Promise<void>;
  readonly alerts?: readonly AlertRule[];
  /** False while work that the part times by itself, and not as a job, is overdue: `svc_scheduler_up` is 0 then. */
  readonly isOnTime?: () => boolean;
  /** Readiness checks. None of them throws. A name that several parts have passes when it does for each of them. */
  readonly checks?: Readonly<Record<string, Check>>;
  /**
   * What `/api/ready` says of a failed check instead of its general hint, by the check's name: a sentence without
   * addresses and secrets; undefined leaves the general one.
   */
  readonly hints?: Readonly<Record<string, () => string | undefined>>;
  /**
   * What `/api/ready` says beside its checks, by name, without a say in readiness: words without addresses and secrets;
   * undefined says nothing.
   */
  readonly states?: Readonly<Record<string, () => string | undefined>>;
  /** Releases what the part holds, within about `limitMs`. */
  readonly close?: (limitMs: number) => Promise<void>;
}

export type Check = () => boolean | Promise<boolean>;

/** Background work that is repeated while the server runs. */
export interface Job {
  readonly name: string;
  /** Milliseconds from the end of one run to the start of the next. */
  readonly pauseMs: number;
  /** Longest time from the server's start to the first run; a pause where it is absent. */
  readonly firstMs?: number;
  /** Within this time a run ends if it does not hang; a quarter of an hour where it is absent. */
  readonly longestMs?: number;
  readonly run: () => Promise<void>;
}

/** A condition that the operator is warned of. */
export interface AlertRule {
  /** `llm_backend_down` and so on. */
  readonly type: string;
  readonly window: AlertWindow;
  /**
   * Everything to warn of now, whether an alert about it was sent or not. Rejects with what the database threw.
   *
   * @param now Unix milliseconds.
   */
  readonly find: (now: number) => Promise<readonly Finding[]>;
  /** While an alert of this type waits to be posted, the next one is only logged. */
  readonly waitsForItself?: true;
}

/**
 * How long one alert about a subject suppresses the next: for milliseconds, for as long as the state lasts (by the
 * finding's `since`), or permanently.
 */
export type AlertWindow = number | "while it lasts" | "permanently";

/** Something to warn of, as it is now. */
export interface Finding {
  /** The id of what it is about, or a word where there is only one of it. */
  readonly subject: string;
  /** For people: what is wrong, and what to do about it. */
  readonly text: string;
  readonly details: JsonObject;
  /** Unix milliseconds of its beginning, for a rule whose window is "while it lasts". */
  readonly since?: number;
  /** Logged when it is no longer found; absent for an event, which is no state. */
  readonly over?: string;
}
