import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { storableText } from "../../lib/text/storable-text.ts";
import type { WorkContext } from "../../queue/topic.ts";
import type { Definition } from "../definition/definition.ts";
import type { RowError } from "../rows/row.ts";

export const RUN_STATUSES = ["queued", "running", "completed", "failed", "stopped"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** Why a trigger started no run. */
export const DISCARD_REASONS = ["queue_full", "overlap", "loop", "license", "owner"] as const;
export type DiscardReason = (typeof DISCARD_REASONS)[number];

/** What started a run, as it is shown, and as expressions see it under `trigger`. */
export interface RunTrigger extends JsonObject {
  readonly kind:
    | "manual"
    | "retry"
    | "webhook"
    | "schedule"
    | "file"
    | "knowledge"
    | "workflow"
    | "dataset"
    | "step";
}

/** Returns what started a run, or for a retry the run that it repeats, however often it was repeated. */
export function startOf(trigger: RunTrigger): RunTrigger {
  let start = trigger;
  while (start.kind === "retry" && isJsonObject(start["of"])) start = start["of"] as RunTrigger;
  return start;
}

/** A run that this replica has claimed. Its version of the definition is read with it. */
export interface ClaimedRun {
  readonly id: string;
  /** `2026-11-23`, the UTC day of its acceptance. */
  readonly day: string;
  readonly workflowId: string;
  readonly workflowName: string;
  readonly version: number;
  readonly definition: Definition;
  readonly trigger: RunTrigger;
  readonly rowsReceived: number;
  /** Null when the owner was deleted: nothing starts. */
  readonly ownerId: string | null;
  readonly keyId: string | null;
  /** The workflows whose runs led to this one, without its own. */
  readonly chain: readonly string[];
  /** The first start, Unix milliseconds. */
  readonly startedAt: number;
  readonly timeoutSeconds: number;
  readonly keepRows: "all" | "failed" | "none";
  /** Workers that began it, this one included. */
  readonly attempts: number;
  readonly retryOf: string | null;
  readonly retryFrom: string | null;
}

export interface RunError {
  readonly step: string | null;
  /** Counted from 1; absent when no row is to blame. */
  readonly row?: number | undefined;
  readonly code: string;
  readonly message: string;
}

/** How a run ended. Its steps are recorded by then. */
export type RunEnd =
  | { readonly status: "completed"; readonly brokeAt?: string | undefined }
  | { readonly status: "failed"; readonly error: RunError; readonly brokeAt?: string | undefined };

/** Reads a definition as it was stored. Throws when this release cannot run it. */
export type ReadDefinition = (stored: JsonObject) => Definition;

/** Works on a claimed run until it ends. Rejects with `ClaimLost`, or the context's reason, when the run is not its own any more. */
export type ExecuteRun = (run: ClaimedRun, context: WorkContext) => Promise<RunEnd>;

/** A step that cannot go on. Every step kind throws this and nothing else; anything else is a fault of the gateway. */
export class StepFailure extends Error {
  override readonly name = "StepFailure";
  readonly code: string;
  /** A repetition may help: refused connections, timeouts, 408, 425, 429 and 5xx. */
  readonly isRetryable: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly row: number | undefined;

  /**
   * @param message says what is wrong and what to do, without secrets or rows. Texts of others in it may have characters
   * that no record can store, or be cut in the middle of one.
   */
  constructor(
    code: string,
    message: string,
    details: {
      readonly isRetryable?: boolean;
      readonly retryAfterSeconds?: number | undefined;
      readonly row?: number | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(storableText(message), { cause: details.cause });
    this.code = code;
    this.isRetryable = details.isRetryable ?? false;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.row = details.row;
  }
}

export function rowFailure({ row, code, message }: RowError): StepFailure {
  return new StepFailure(code, message, { row });
}
