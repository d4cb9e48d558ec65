import { and, asc, count, desc, eq, gt, type SQL, sql } from "drizzle-orm";
import type { AnyActor } from "../../access/actor.ts";
import { change } from "../../access/change.ts";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { workflowQueues, workflows, workflowVersions } from "../../db/tables/workflows.ts";
import { type Owned, visibleTo } from "../../knowledge/rights.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { parseTriggers } from "../definition/parse-triggers.ts";
import { type IssuedWebhook, issueWebhook } from "./webhook-credential.ts";
import {
  lockWorkflow,
  partsOf,
  readWorkflow,
  refuseChange,
  type Workflow,
  withQueues,
} from "./workflow.ts";
import type { WorkflowRecords } from "./workflow-records.ts";

export interface WorkflowQuery {
  readonly search?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly ownerId?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Lists the workflows that the caller may see, the newest first. */
export function listWorkflows(
  records: WorkflowRecords,
  caller: AnyCaller,
  { search, enabled, ownerId, limit, offset }: WorkflowQuery,
): Promise<{ readonly data: readonly Workflow[]; readonly total: number }> {
  const filter = and(
    visibleTo(workflows, caller),
    search === undefined
      ? undefined
      : sql`strpos(lower(${workflows.name}), lower(${search}::text)) > 0`,
    enabled === undefined ? undefined : eq(workflows.enabled, enabled),
    ownerId === undefined ? undefined : eq(workflows.ownerId, ownerId),
  );
  return records.database.ask(async (db) => {
    const rows = await db
      .select()
      .from(workflows)
      .where(filter)
      .orderBy(desc(workflows.createdAt), asc(workflows.id))
      .limit(limit)
      .offset(offset);
    const [counted] = await db.select({ total: count() }).from(workflows).where(filter);
    return { data: await withQueues(records, db, rows), total: counted?.total ?? 0 };
  });
}

/** Workflows that the same people may see, and how many of them there are. */
interface WorkflowCount extends Owned {
  readonly total: number;
}

/** Counts the workflows whose last completed or failed run failed, by who may see them. */
export function countFailingWorkflows({
  database,
}: Pick<WorkflowRecords, "database">): Promise<readonly WorkflowCount[]> {
  const { ownerId, visibility } = workflows;
  return database.ask((db) =>
    db
      .select({ ownerId, visibility, total: count() })
      .from(workflowQueues)
      .innerJoin(workflows, eq(workflows.id, workflowQueues.workflowId))
      .where(gt(workflowQueues.consecutiveFailures, 0))
      .groupBy(ownerId, visibility),
  );
}

/** Rejects with `not_found`. */
export function findWorkflow(
  records: WorkflowRecords,
  caller: AnyCaller,
  id: string,
): Promise<Workflow> {
  return records.database.ask(async (db) => {
    const [workflow] = await withQueues(records, db, [await readWorkflow(db, id, caller)]);
    if (workflow === undefined) throw new Error("a workflow that was read is missing");
    return workflow;
  });
}

/** What describes a workflow elsewhere: what a new one is made from, without ids, keys and secrets of this one. */
export interface WorkflowExport {
  readonly name: string;
  readonly description: string | null;
  readonly timeoutSeconds: number;
  readonly keepRows: "all" | "failed" | "none";
  readonly triggers: readonly JsonObject[];
  readonly steps: readonly JsonObject[];
}

/** Rejects with `not_found`. */
export async function exportWorkflow(
  { database }: WorkflowRecords,
  caller: AnyCaller,
  id: string,
): Promise<WorkflowExport> {
  const row = await database.ask((db) => readWorkflow(db, id, caller));
  const { name, description, timeoutSeconds, keepRows, definition } = row;
  return { name, description, timeoutSeconds, keepRows, ...partsOf(definition) };
}

export interface WorkflowVersion {
  readonly version: number;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  readonly triggers: readonly JsonObject[];
  readonly steps: readonly JsonObject[];
}

/** Lists the versions of a workflow, the newest first. Rejects with `not_found`. */
export function listVersions(
  { database }: WorkflowRecords,
  caller: AnyCaller,
  { id, limit, offset }: { readonly id: string; readonly limit: number; readonly offset: number },
): Promise<{ readonly data: readonly WorkflowVersion[]; readonly total: number }> {
  const isOf: SQL = eq(workflowVersions.workflowId, id);
  return database.ask(async (db) => {
    await readWorkflow(db, id, caller);
    const rows = await db
      .select()
      .from(workflowVersions)
      .where(isOf)
      .orderBy(desc(workflowVersions.version))
      .limit(limit)
      .offset(offset);
    const [counted] = await db.select({ total: count() }).from(workflowVersions).where(isOf);
    const data = rows.map(({ definition, ...row }) => ({ ...row, ...partsOf(definition) }));
    return { data, total: counted?.total ?? 0 };
  });
}

/**
 * Replaces the credential of a webhook; the former one is invalid at once. Rejects with `not_found`,
 * `insufficient_permission`, and `invalid_value` without a webhook.
 */
export async function rotateWebhook(
  records: WorkflowRecords,
  actor: AnyActor,
  id: string,
): Promise<IssuedWebhook> {
  const frame = {
    action: "workflow.rotate_webhook",
    targetKind: "workflow",
    targetId: id,
  } as const;
  return change(records, actor, frame, async (transaction) => {
    const row = await lockWorkflow(transaction, id, actor.caller);
    const { triggers } = parseTriggers(partsOf(row.definition).triggers);
    const webhook = triggers.find(({ trigger }) => trigger.kind === "webhook")?.trigger;
    if (webhook?.kind !== "webhook") throw noWebhook();
    const { columns, issued } = issueWebhook(records.secretBox, id, webhook.auth);
    if (issued === undefined) throw new Error("a new webhook has no credential");
    const updatedAt = new Date(records.clock.now());
    await transaction
      .update(workflows)
      .set({ ...columns, updatedAt })
      .where(eq(workflows.id, id));
    return { result: issued, details: { name: row.name, auth: webhook.auth } };
  });
}

function noWebhook(): ServiceError {
  return new ServiceError(
    "invalid_value",
    'The workflow has no webhook. Add `{"kind": "webhook"}` to its triggers first.',
    { param: "triggers" },
  );
}

/** Stops the runs of a workflow and deletes it with its versions; the records of its runs stay. */
export async function deleteWorkflow(
  records: WorkflowRecords,
  actor: AnyActor,
  id: string,
): Promise<void> {
  const frame = { action: "workflow.delete", targetKind: "workflow", targetId: id } as const;
  await change(records, actor, frame, async (transaction) => {
    const found = await readWorkflow(transaction, id, actor.caller);
    refuseChange(found, actor.caller);
    // The lock of the queue comes before that of the workflow, as everywhere.
    const { runIds } = await records.runs.stopWorkflow(transaction, id, records.clock.now());
    const row = await lockWorkflow(transaction, id, actor.caller);
    await records.schedules.saveSchedules(transaction, id, [], records.clock.now());
    await transaction.delete(workflows).where(eq(workflows.id, id));
    return { result: undefined, details: { name: row.name, stopped_runs: runIds.length } };
  });
}
