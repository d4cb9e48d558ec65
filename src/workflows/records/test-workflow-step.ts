import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { inputName } from "../definition/connect-steps.ts";
import { parseDefinition } from "../definition/parse-definition.ts";
import { type StepTestResult, testStep } from "../definition/test-step.ts";
import { MAX_ROW_BYTES, type Row } from "../rows/row.ts";
import { checkDraft } from "./check-workflow.ts";
import { partsOf, readWorkflow, refuseChange } from "./workflow.ts";
import type { WorkflowRecords } from "./workflow-records.ts";

export interface StepTrial {
  readonly id: string;
  readonly stepId: string;
  /** For the first input. */
  readonly rows: readonly Row[];
  /** For inputs by name, in the place of `rows`. */
  readonly inputs: Readonly<Record<string, readonly Row[]>>;
  readonly signal: AbortSignal;
}

/**
 * Runs one step of a saved workflow with sample rows. Rejects with `not_found`, `insufficient_permission`, and with
 * `invalid_value` for a workflow that cannot run as it is saved, or whose key has more rights than the caller.
 */
export async function testWorkflowStep(
  records: WorkflowRecords,
  caller: AnyCaller,
  { id, stepId, rows, inputs, signal }: StepTrial,
): Promise<StepTestResult> {
  const row = await records.database.ask((db) => readWorkflow(db, id, caller));
  refuseChange(row, caller);
  const parts = partsOf(row.definition);
  const { definition } = parseDefinition(parts, records.kinds);
  const step = definition.steps.find((known) => known.id === stepId);
  const kind = step && records.kinds.find(step.kind);
  if (step === undefined || kind === undefined) {
    throw new ServiceError("not_found", "The workflow has no step of this id.", { param: "step" });
  }
  const callsModels = kind.needsKey === true;
  if (callsModels) refuseModelByToken(caller);
  // The owner may have lost since what the step needs.
  await checkDraft(records, caller, {
    ...parts,
    keyId: row.keyId,
    // The rows are the caller's.
    givesKey: callsModels,
    ownerId: row.ownerId ?? caller.ownerId,
    workflowId: id,
    visibility: undefined,
    faults: [],
  });
  const names = step.from.length === 0 ? ["rows"] : step.from.map(inputName);
  const unknown = Object.keys(inputs).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new ServiceError(
      "invalid_value",
      `The step has no input '${unknown.slice(0, 90)}'. Its inputs are ${names.join(", ")}.`,
      { param: "inputs" },
    );
  }
  refuseLargeRows([rows, ...Object.values(inputs)].flat());
  return testStep(records.clock, {
    ...{ kind, step, definition, workflow: row, signal },
    inputs: new Map(
      names.map((name, at) => [name, inputs[name] ?? (at === 0 ? rows : [])] as const),
    ),
  });
}

function refuseModelByToken({ kind }: AnyCaller): void {
  if (kind !== "service_token") return;
  throw new ServiceError(
    "insufficient_permission",
    "A service token calls no models, as this step does. Use the session of a logged-in user.",
    { param: "step" },
  );
}

function refuseLargeRows(rows: readonly Row[]): void {
  const at = rows.findIndex((row) => Buffer.byteLength(JSON.stringify(row)) > MAX_ROW_BYTES);
  if (at === -1) return;
  throw new ServiceError("invalid_value", `Row ${at + 1} has more than ${MAX_ROW_BYTES} bytes.`, {
    param: `rows[${at}]`,
  });
}
