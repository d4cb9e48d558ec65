import { isDeepStrictEqual } from "node:util";
import { eq } from "drizzle-orm";
import type { AnyActor } from "../../access/actor.ts";
import { auditDetails } from "../../access/audit/record-audit.ts";
import { change } from "../../access/change.ts";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { workflowQueues, workflows, workflowVersions } from "../../db/tables/workflows.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { Definition, Fault } from "../definition/definition.ts";
import { outside } from "../definition/parse-triggers.ts";
import { type CheckedDraft, checkDraft, type Draft } from "./check-workflow.ts";
import { followWebhook, type IssuedWebhook } from "./webhook-credential.ts";
import {
  lockWorkflow,
  partsOf,
  readWorkflow,
  refuseChange,
  refuseRestrictedKey,
  type Workflow,
  type WorkflowRow,
  withQueues,
} from "./workflow.ts";
import type { WorkflowRecords } from "./workflow-records.ts";

/** The fields beside the definition that a client sets. */
type Head = Pick<
  WorkflowRow,
  "name" | "description" | "enabled" | "visibility" | "keyId" | "timeoutSeconds" | "keepRows"
>;

/** A workflow as it was sent; `faults` are those that its other fields have. */
export interface NewWorkflow extends Head {
  readonly triggers: unknown;
  readonly steps: unknown;
  readonly faults: readonly Fault[];
}

/** The fields to change; undefined ones stay as they are. */
export type WorkflowPatch = {
  readonly [Name in keyof Head]?: Head[Name] | undefined;
} & {
  readonly triggers?: unknown;
  readonly steps?: unknown;
  /** Only administrators hand a workflow over. */
  readonly ownerId?: string | undefined;
  /** The version that the change was made from. */
  readonly ifVersion?: number | undefined;
  readonly faults: readonly Fault[];
};

/** The workflow, and the credential of its webhook when it is a new one. */
export interface SavedWorkflow {
  readonly workflow: Workflow;
  readonly issued: IssuedWebhook | undefined;
}

/** Checks a definition as its creation would, and saves nothing. Rejects as `createWorkflow`. */
export async function validateWorkflow(
  records: WorkflowRecords,
  caller: AnyCaller,
  given: NewWorkflow,
): Promise<Definition> {
  return (await checkDraft(records, caller, newDraft(caller, given))).definition;
}

/** Saves a workflow that the actor owns. Rejects with `invalid_value`, all faults in its `ext.errors`. */
export async function createWorkflow(
  records: WorkflowRecords,
  actor: AnyActor,
  given: NewWorkflow,
): Promise<SavedWorkflow> {
  const { caller } = actor;
  refuseRestrictedKey(caller);
  const { ownerId } = caller;
  const checked = await checkDraft(records, caller, newDraft(caller, given));
  const { triggers: _triggers, steps: _steps, faults: _faults, ...head } = given;
  const id = `wf_${randomBase62(22)}`;
  const at = new Date(records.clock.now());
  const { columns, issued } = followWebhook(records.secretBox, id, checked.definition);
  const definition = checked.stored;
  const frame = { action: "workflow.create", targetKind: "workflow", targetId: id } as const;
  return change(records, actor, frame, async (transaction) => {
    const [row] = await transaction
      .insert(workflows)
      .values({ ...head, ...columns, id, ownerId, definition, createdAt: at, updatedAt: at })
      .returning();
    if (row === undefined) throw new Error("the workflow was not inserted");
    await transaction.insert(workflowQueues).values({ workflowId: id });
    await insertVersion(transaction, row, actor);
    const { triggers } = checked.definition;
    await records.schedules.saveSchedules(transaction, id, triggers, at.getTime());
    const workflow = await show(records, transaction, row);
    return { result: { workflow, issued }, details: { ...auditDetails(head), version: 1 } };
  });
}

function newDraft({ ownerId }: AnyCaller, given: NewWorkflow): Draft {
  return { ...given, ownerId, workflowId: null, givesKey: true };
}

/**
 * Sets the given fields. Other triggers or steps make a new version; runs that are accepted keep theirs. Rejects with
 * `not_found`, `insufficient_permission`, `invalid_value` and `version_conflict`.
 */
export async function updateWorkflow(
  records: WorkflowRecords,
  actor: AnyActor,
  { id, patch }: { readonly id: string; readonly patch: WorkflowPatch },
): Promise<SavedWorkflow> {
  const { caller } = actor;
  const known = await records.database.ask((db) => readWorkflow(db, id, caller));
  refuseChange(known, caller);
  refuseVersion(known, patch.ifVersion);
  const checked = await checkPatch(records, caller, known, patch);
  const { triggers: _triggers, steps: _steps, faults: _faults, ifVersion: _, ...head } = patch;
  const frame = { action: "workflow.update", targetKind: "workflow", targetId: id } as const;
  return change(records, actor, frame, async (transaction) => {
    const row = await lockWorkflow(transaction, id, caller);
    // The definition was checked with what was read before the lock.
    refuseVersion(row, patch.ifVersion ?? (checked && known.version));
    if (checked !== undefined) refuseOtherKey(row, known);
    const at = new Date(records.clock.now());
    const { set, issued } = changesOf(records, row, checked);
    const isNewVersion = set.version !== undefined;
    const [saved] = await transaction
      .update(workflows)
      .set({ ...head, ...set, updatedAt: at })
      .where(eq(workflows.id, id))
      .returning();
    if (saved === undefined) throw new Error("a locked workflow is missing");
    if (isNewVersion) await insertVersion(transaction, saved, actor);
    // A disabled workflow's schedules rest.
    if (checked !== undefined || row.enabled !== saved.enabled) {
      const triggers = checked?.definition.triggers ?? storedTriggers(saved);
      await records.schedules.saveSchedules(transaction, id, triggers, at.getTime());
    }
    const workflow = await show(records, transaction, saved);
    const details = { ...auditDetails({ ...head, version: set.version }), name: saved.name };
    return { result: { workflow, issued }, details };
  });
}

/** What a checked definition changes of its workflow's row. */
function changesOf(
  { secretBox }: Pick<WorkflowRecords, "secretBox">,
  row: WorkflowRow,
  checked: CheckedDraft | undefined,
): { readonly set: Partial<WorkflowRow>; readonly issued: IssuedWebhook | undefined } {
  if (checked === undefined) return { set: {}, issued: undefined };
  const { definition, stored } = checked;
  const { columns, issued } = followWebhook(secretBox, row.id, { ...definition, stored: row });
  if (isDeepStrictEqual(stored, row.definition)) return { set: columns, issued };
  return { set: { ...columns, definition: stored, version: row.version + 1 }, issued };
}

/** Checks what the change makes of the workflow, unless nothing that is checked changes. */
async function checkPatch(
  records: WorkflowRecords,
  caller: AnyCaller,
  known: WorkflowRow,
  patch: WorkflowPatch,
) {
  const { triggers, steps } = partsOf(known.definition);
  const isAdministrator = caller.role === "admin";
  const handedOver =
    patch.ownerId !== undefined && patch.ownerId !== known.ownerId && !isAdministrator
      ? [outside("owner_id", "Only an administrator may hand a workflow over. Leave it out.")]
      : [];
  const draft = {
    triggers: patch.triggers === undefined ? triggers : patch.triggers,
    steps: patch.steps === undefined ? steps : patch.steps,
    ...keyOf(known, patch),
    ownerId: patch.ownerId ?? known.ownerId ?? caller.ownerId,
    workflowId: known.id,
    visibility: patch.visibility === known.visibility ? undefined : patch.visibility,
    faults: [...patch.faults, ...handedOver],
  };
  const isEnabling = patch.enabled === true && !known.enabled;
  const isChecked =
    [patch.triggers, patch.steps, patch.keyId, patch.ownerId, draft.visibility].some(
      (field) => field !== undefined,
    ) || isEnabling;
  if (!isChecked && draft.faults.length === 0) return undefined;
  return checkDraft(records, caller, draft);
}

/** The key after a change. Who leaves the key and the steps as they are gives the key to nothing. */
function keyOf(
  { keyId: knownId, definition }: WorkflowRow,
  { keyId = knownId, steps }: WorkflowPatch,
): Pick<Draft, "keyId" | "givesKey"> {
  const hasOtherSteps = steps !== undefined && !isDeepStrictEqual(steps, partsOf(definition).steps);
  return { keyId, givesKey: keyId !== knownId || hasOtherSteps };
}

function refuseOtherKey({ keyId }: WorkflowRow, known: WorkflowRow): void {
  if (keyId === known.keyId) return;
  throw new ServiceError(
    "version_conflict",
    "The workflow's key was changed meanwhile. Read it again and repeat the change.",
    { param: "key_id" },
  );
}

function refuseVersion({ version }: WorkflowRow, expected: number | undefined): void {
  if (expected === undefined || expected === version) return;
  throw new ServiceError(
    "version_conflict",
    `The workflow is at version ${version} now, and the change was made from version ${expected}. Read it again and repeat the change.`,
    { param: "if_version" },
  );
}

async function insertVersion(
  transaction: Db,
  { id, version, definition, updatedAt }: WorkflowRow,
  { caller }: AnyActor,
): Promise<void> {
  const createdBy = caller.kind === "key" ? caller.keyId : caller.ownerId;
  await transaction
    .insert(workflowVersions)
    .values({ workflowId: id, version, definition, createdAt: updatedAt, createdBy });
}

/** Triggers are stored with their defaults. */
function storedTriggers({ definition }: WorkflowRow): Definition["triggers"] {
  return partsOf(definition).triggers as unknown as Definition["triggers"];
}

async function show(records: WorkflowRecords, db: Db, row: WorkflowRow): Promise<Workflow> {
  const [workflow] = await withQueues(records, db, [row]);
  if (workflow === undefined) throw new Error("a saved workflow is missing");
  return workflow;
}
