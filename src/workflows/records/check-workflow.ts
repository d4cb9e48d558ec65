import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { checkDefinition } from "../definition/check-definition.ts";
import type { Definition, Fault } from "../definition/definition.ts";
import { parseDraft } from "../definition/parse-definition.ts";
import { outside } from "../definition/parse-triggers.ts";
import { findOwner } from "../owner-caller.ts";
import type { WorkflowRecords } from "./workflow-records.ts";

/** Faults that one answer shows. */
const MAX_SHOWN = 200;

/** A definition that was sent, and for whom. */
export interface Draft {
  readonly triggers: unknown;
  readonly steps: unknown;
  readonly keyId: string | null;
  /** The caller decides what the key is used for, so that it may have no more rights than the caller. */
  readonly givesKey: boolean;
  readonly ownerId: string;
  /** Null for a new workflow. */
  readonly workflowId: string | null;
  readonly visibility: "private" | "everyone" | undefined;
  /** What was already found wrong with the other fields. */
  readonly faults: readonly Fault[];
}

/** A definition without faults. */
export interface CheckedDraft {
  readonly definition: Definition;
  /** What is stored: the triggers with their defaults, the steps as they were sent. */
  readonly stored: JsonObject;
}

/**
 * Checks everything about a workflow. Rejects with `invalid_value`, whose `ext.errors` lists all faults with their
 * steps and fields, and with `insufficient_permission` for what only administrators do.
 */
export async function checkDraft(
  records: WorkflowRecords,
  caller: AnyCaller,
  draft: Draft,
): Promise<CheckedDraft> {
  const faults = await findFaults(records, caller, draft);
  refuseFaults(faults.faults);
  const { definition } = faults;
  return {
    definition,
    stored: { triggers: definition.triggers, steps: draft.steps } as unknown as JsonObject,
  };
}

async function findFaults(
  records: WorkflowRecords,
  caller: AnyCaller,
  draft: Draft,
): Promise<{ readonly definition: Definition; readonly faults: readonly Fault[] }> {
  const parsed = parseDraft(draft, records.kinds);
  const owner = await records.database.ask((db) => findOwner(db, draft.ownerId));
  if (owner === undefined) {
    const fault = outside("owner_id", "There is no such user. Use an id of GET /api/admin/users.");
    return { ...parsed, faults: [...draft.faults, fault, ...parsed.faults] };
  }
  const { checkSchedule } = records.schedules;
  const found = await checkDefinition(
    { ...records, checkSchedule },
    {
      owner: owner.caller,
      workflowId: draft.workflowId,
      keyId: draft.keyId,
      keyGiver: draft.givesKey ? caller : null,
    },
    parsed,
  );
  const sharing =
    draft.visibility === "everyone" && caller.role !== "admin"
      ? [outside("visibility", "Only an administrator may set 'everyone'. Use 'private'.")]
      : [];
  return { ...parsed, faults: [...draft.faults, ...sharing, ...found] };
}

/** Throws `invalid_value` that lists the faults, one of each field, if there are any. */
function refuseFaults(found: readonly Fault[]): void {
  const faults = firstOfField(found);
  const [first] = faults;
  if (first === undefined) return;
  const place = paramOf(first);
  const more = faults.length === 1 ? "" : ` There are ${faults.length - 1} more in 'ext.errors'.`;
  throw new ServiceError("invalid_value", `'${place}' is wrong: ${first.message}${more}`, {
    param: place,
    ext: { errors: faults.slice(0, MAX_SHOWN).map((fault) => ({ ...fault })) },
  });
}

/** Two checks may find the same fault: one of a field is enough. */
function firstOfField(faults: readonly Fault[]): readonly Fault[] {
  const byPlace = new Map<string, Fault>();
  for (const fault of faults) {
    const place = `${fault.step} ${fault.field}`;
    if (!byPlace.has(place)) byPlace.set(place, fault);
  }
  return [...byPlace.values()];
}

/** `steps.classify.labels`, or `triggers[0].cron`. */
function paramOf({ step, field }: Fault): string {
  if (step === null) return field;
  const place = step.startsWith("steps[") ? step : `steps.${step}`;
  return field === "" ? place : `${place}.${field}`;
}
