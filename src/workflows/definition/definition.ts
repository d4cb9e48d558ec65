import type { JsonObject } from "../../lib/json/json.ts";

/** What starts a workflow by itself. `key` is derived from the trigger, so that it stays the same while that does. */
export type Trigger =
  | {
      readonly kind: "webhook";
      readonly auth: "secret" | "url";
      /** As of the triggers that start by themselves: a run of the workflow itself may call it. */
      readonly allow_loop: boolean;
    }
  | (Started & {
      readonly kind: "schedule";
      /** Five or six fields of cron, or `@hourly` and its kind; unset with `every`. */
      readonly cron?: string | undefined;
      /** `30s` or `5m`. */
      readonly every?: string | undefined;
      readonly timezone: string;
    })
  | (Started & {
      readonly kind: "file";
      /** A glob of the path, see `queue/path-glob.ts`. */
      readonly path: string;
      /** The name of a file connection; unset: uploads and every folder. */
      readonly folder?: string | undefined;
      readonly on: readonly ("uploaded" | "deleted")[];
    })
  | (Started & { readonly kind: "knowledge"; readonly vector_store: string })
  | (Started & {
      readonly kind: "workflow";
      /** An id, or `*` for every workflow that the owner may see. */
      readonly workflow: string;
      readonly on: readonly ("completed" | "failed")[];
    })
  | (Started & { readonly kind: "dataset"; readonly dataset: string });

interface Started {
  /** While one run of this trigger waits, further facts join its rows. */
  readonly coalesce: boolean;
  /** The workflow may start although its chain already holds it, up to ten deep. */
  readonly allow_loop: boolean;
}

export const ON_ROW_ERROR = ["fail", "skip", "route"] as const;
export type OnRowError = (typeof ON_ROW_ERROR)[number];

/** One step. In JSON its kind's own fields stand beside these. */
export interface Step {
  /** Unique in the workflow: a-z, 0-9 and `_`, a letter first, up to 40 characters. */
  readonly id: string;
  readonly kind: string;
  /** Steps or named outputs (`check.else`); never absent here: the step above was filled in. Empty for the first one. */
  readonly from: readonly string[];
  readonly run_on_empty: boolean;
  readonly retries: number;
  readonly timeout_seconds?: number | undefined;
  readonly on_row_error: OnRowError;
  /** The fields of its kind, as its schema returned them. */
  readonly settings: JsonObject;
}

/** A definition that was checked. Stored as the JSON that was sent, and checked again when it is read. */
export interface Definition {
  readonly triggers: readonly Trigger[];
  readonly steps: readonly Step[];
}

/** One fault of a definition. All of them are reported at once. */
export interface Fault {
  /** The step's id, or its place (`steps[3]`) when it has none; null for what is outside the steps. */
  readonly step: string | null;
  /** The path of the field in the step, or in the workflow: `labels`, `triggers[0].cron`. */
  readonly field: string;
  readonly message: string;
}

export const MAX_STEPS = 100;
export const MAX_TRIGGERS = 20;
export const MAX_DEFINITION_BYTES = 256 * 1024;
