import type { Settings } from "../../config/settings.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { AlertFacts } from "./alert-facts.ts";

export type AlertType =
  | "llm_backend_down"
  | "mcp_server_error"
  | "pipeline_failed"
  | "pipeline_consecutive_failures"
  | "pipeline_queue_backlog"
  | "event_outbox_backlog";

export type AlertSettings = Pick<
  Settings,
  | "LLM_BACKEND"
  | "ALERT_PIPELINE_CONSECUTIVE_FAILURES"
  | "ALERT_PIPELINE_QUEUE_AGE_SEC"
  | "ALERT_EVENT_OUTBOX_AGE_SEC"
>;

/** Something to warn of, as it is now. */
export interface Finding {
  /** The id of what it is about, or a word where there is only one of it. */
  readonly subject: string;
  /** For people: what is wrong, and what that means or asks for. */
  readonly text: string;
  readonly details: JsonObject;
  /** Unix milliseconds of its beginning, for a rule whose window is as long as what it warns of. */
  readonly since?: number;
  /** Said in the log when it is found no more; absent for what happens once and is no state. */
  readonly over?: string;
}

/**
 * For how long one alert about a subject silences the next: milliseconds, as long as the state lasts (by the finding's
 * `since`), or for good.
 */
export type AlertWindow = number | "while it lasts" | "for good";

/** One type of alert. */
export interface AlertRule {
  readonly type: AlertType;
  readonly window: AlertWindow;
  /** Everything that is to be warned of now, whether it was already or not. Rejects with what the database threw. */
  readonly find: (
    facts: AlertFacts,
    settings: AlertSettings,
    now: number,
  ) => Promise<readonly Finding[]>;
  /** While one waits to be posted, the next goes to the log alone. */
  readonly waitsForItself?: true;
}
