import { desc, eq, inArray, sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import {
  workflowQueues,
  workflowRuns,
  workflowSchedules,
  workflows,
} from "../../db/tables/workflows.ts";
import { mayChange, mayUse } from "../../knowledge/rights.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Trigger } from "../definition/definition.ts";
import { parseTriggers } from "../definition/parse-triggers.ts";
import { triggerKey } from "../definition/trigger-key.ts";
import type { RunStatus } from "../runs/run.ts";
import type { WorkflowRecords } from "./workflow-records.ts";

/** A workflow as the database has it. */
export type WorkflowRow = typeof workflows.$inferSelect;

/** A workflow as it is shown. */
export interface Workflow
  extends Omit<WorkflowRow, "definition" | "webhookSecret" | "webhookUrlHash"> {
  readonly triggers: readonly JsonObject[];
  readonly steps: readonly JsonObject[];
  /** Null without a webhook. */
  readonly webhook: { readonly auth: "secret" | "url"; readonly path: string | null } | null;
  /** The next five times of each schedule; of a disabled workflow none. */
  readonly schedules: readonly {
    readonly trigger: number;
    readonly next: readonly Date[];
  }[];
  /** The kinds of its triggers, in their order. */
  readonly triggerKinds: readonly string[];
  readonly queued: number;
  /** How many runs may wait. */
  readonly maxQueued: number;
  readonly lastRun: LastRun | null;
  readonly consecutiveFailures: number;
  /** Discarded triggers by reason. */
  readonly discarded: Readonly<Record<string, number>>;
  readonly discardedAt: Date | null;
}

/** The run of a workflow that was accepted last. */
export interface LastRun {
  readonly runId: string;
  readonly status: RunStatus;
  readonly queuedAt: Date;
  readonly endedAt: Date | null;
}

export const WEBHOOK_PATH = "/api/pipeline/webhook";

/** The triggers and steps of a stored definition. */
export function partsOf(definition: JsonObject): {
  readonly triggers: readonly JsonObject[];
  readonly steps: readonly JsonObject[];
} {
  const list = (value: unknown) => (Array.isArray(value) ? (value as readonly JsonObject[]) : []);
  return { triggers: list(definition["triggers"]), steps: list(definition["steps"]) };
}

/** Adds to rows of workflows what their queues and schedules show. */
export async function withQueues(
  { schedules, clock, settings }: Pick<WorkflowRecords, "schedules" | "clock" | "settings">,
  db: Db,
  rows: readonly WorkflowRow[],
): Promise<readonly Workflow[]> {
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return [];
  const queues = await db
    .select()
    .from(workflowQueues)
    .where(inArray(workflowQueues.workflowId, ids));
  const saved = await db
    .select()
    .from(workflowSchedules)
    .where(inArray(workflowSchedules.workflowId, ids));
  const lastRuns = await readLastRuns(db, ids);
  const queueOf = new Map(queues.map((queue) => [queue.workflowId, queue]));
  const savedAt = new Map(
    saved.map((one) => [`${one.workflowId} ${one.triggerKey}`, one.savedAt.getTime()]),
  );
  return rows.map((row) => {
    const queue = queueOf.get(row.id);
    const next = (trigger: Trigger): readonly Date[] => {
      if (trigger.kind !== "schedule" || !row.enabled) return [];
      const now = clock.now();
      const since = savedAt.get(`${row.id} ${triggerKey(trigger)}`) ?? now;
      return schedules.nextTimes(trigger, since, now);
    };
    return toWorkflow(row, {
      schedules: parseTriggers(partsOf(row.definition).triggers)
        .triggers.filter(({ trigger }) => trigger.kind === "schedule")
        .map(({ at, trigger }) => ({ trigger: at, next: next(trigger) })),
      queued: queue?.queued ?? 0,
      maxQueued: settings.PIPELINE_MAX_QUEUED_RUNS,
      lastRun: lastRuns.get(row.id) ?? null,
      consecutiveFailures: queue?.consecutiveFailures ?? 0,
      discarded: queue?.discarded ?? {},
      discardedAt: queue?.discardedAt ?? null,
    });
  });
}

/** Finds the newest run of each workflow by its index. */
async function readLastRuns(
  db: Db,
  workflowIds: readonly string[],
): Promise<ReadonlyMap<string, LastRun>> {
  const { id, day, workflowId, status, queuedAt, endedAt } = workflowRuns;
  const newest = db
    .select({ workflowId, runId: id, status, queuedAt, endedAt })
    .from(workflowRuns)
    .where(eq(workflowId, workflows.id))
    .orderBy(desc(day), desc(queuedAt), desc(id))
    .limit(1)
    .as("newest");
  const found = await db
    .select({
      workflowId: newest.workflowId,
      runId: newest.runId,
      status: newest.status,
      queuedAt: newest.queuedAt,
      endedAt: newest.endedAt,
    })
    .from(workflows)
    .innerJoinLateral(newest, sql`true`)
    .where(inArray(workflows.id, [...workflowIds]));
  return new Map(found.map((run) => [run.workflowId, run]));
}

function toWorkflow(
  { definition, webhookSecret, webhookUrlHash, ...row }: WorkflowRow,
  figures: Omit<Workflow, keyof WorkflowRow | "triggers" | "steps" | "triggerKinds" | "webhook">,
): Workflow {
  const bySecret = { auth: "secret", path: `${WEBHOOK_PATH}/${row.id}` } as const;
  // The address is the credential: it was shown once.
  const byUrl = webhookUrlHash === null ? null : ({ auth: "url", path: null } as const);
  const parts = partsOf(definition);
  return {
    ...row,
    ...parts,
    triggerKinds: parts.triggers.map(({ kind }) => String(kind)),
    webhook: webhookSecret === null ? byUrl : bySecret,
    ...figures,
  };
}

/** Returns the row of a workflow that the caller may see. Rejects with `not_found`. */
export async function readWorkflow(db: Db, id: string, caller: AnyCaller): Promise<WorkflowRow> {
  const [row] = await db.select().from(workflows).where(eq(workflows.id, id));
  return visible(row, caller);
}

/**
 * Locks and returns the row of a workflow that the actor changes. Rejects with `not_found`, and with
 * `insufficient_permission` where the caller may only see it.
 */
export async function lockWorkflow(
  transaction: Db,
  id: string,
  caller: AnyCaller,
): Promise<WorkflowRow> {
  const [found] = await transaction
    .select()
    .from(workflows)
    .where(eq(workflows.id, id))
    .for("no key update");
  const row = visible(found, caller);
  refuseChange(row, caller);
  return row;
}

function visible(row: WorkflowRow | undefined, caller: AnyCaller): WorkflowRow {
  if (row !== undefined && mayUse(row, caller)) return row;
  throw new ServiceError(
    "not_found",
    "There is no workflow of this id; see GET /api/pipeline/workflows.",
  );
}

/** Throws `insufficient_permission` unless the caller may change the workflow. */
export function refuseChange(row: WorkflowRow, caller: AnyCaller): void {
  refuseRestrictedKey(caller);
  if (mayChange(row, caller)) return;
  throw new ServiceError(
    "insufficient_permission",
    "This workflow is shared with you: you may start and stop it, and only its owner or an administrator changes it.",
  );
}

/** Throws `insufficient_permission` for a restricted key, which only starts workflows and reads. */
export function refuseRestrictedKey(caller: AnyCaller): void {
  if (caller.kind !== "key" || !caller.isRestricted) return;
  throw new ServiceError(
    "insufficient_permission",
    "This API key has limits or is bound to an assistant: it may start workflows and read them, nothing else. Use a session or a key without restrictions.",
  );
}
