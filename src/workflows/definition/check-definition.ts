import type { SessionCaller } from "../../core/callers/caller.ts";
import { isJsonObject, type JsonValue } from "../../lib/json/json.ts";
import type { RowProcess } from "../row-process/row-process.ts";
import type { WorkflowSecrets } from "../secrets.ts";
import { checkKey, type KeyChecks, type KeyUse } from "./check-key.ts";
import { checkTriggers, type TriggerChecks } from "./check-triggers.ts";
import { inputName } from "./connect-steps.ts";
import type { Definition, Fault, Step } from "./definition.ts";
import { type ParsedDefinition, sortFaults } from "./parse-definition.ts";

export interface DefinitionChecks extends TriggerChecks, KeyChecks {
  readonly rowProcess: Pick<RowProcess, "check">;
  readonly secrets: Pick<WorkflowSecrets, "exists">;
}

/** For whom a definition is checked. */
export interface DefinitionSubject extends Omit<KeyUse, "steps"> {
  /** What is saved runs with the rights of the workflow's owner. */
  readonly owner: SessionCaller;
  /** Null for a new workflow. */
  readonly workflowId: string | null;
}

/**
 * Looks at what a definition says and names: expressions, SQL, schedules, keys, secrets, and everything that has to
 * exist for the owner. It checks the valid part of a definition, so that all faults are reported at once: those of
 * reading it and its own.
 */
export async function checkDefinition(
  checks: DefinitionChecks,
  subject: DefinitionSubject,
  { definition, triggers, faults }: ParsedDefinition,
): Promise<readonly Fault[]> {
  const found = await Promise.all([
    checkTriggers(checks, subject, triggers),
    checkKey(checks, { ...subject, steps: definition.steps }),
    checkExpressions(checks, subject, definition),
    ...definition.steps.map((step) => checkStep(checks, subject, definition, step)),
  ]);
  const order = new Map(definition.steps.map(({ id }, at) => [id, at]));
  return sortFaults([...faults, ...found.flat()], order);
}

/** All in one call, because a row process is taken for it. */
async function checkExpressions(
  { kinds, rowProcess }: DefinitionChecks,
  { owner }: DefinitionSubject,
  { steps }: Definition,
): Promise<readonly Fault[]> {
  const expressions = steps.flatMap(({ id, kind, settings, from }) => {
    const found = kinds.find(kind)?.expressions?.(settings, from.map(inputName)) ?? [];
    return found.map((expression) => ({ ...expression, field: `${id}/${expression.field}` }));
  });
  if (expressions.length === 0) return [];
  const faults = await rowProcess.check(expressions, owner.ownerId);
  return faults.map(({ field, message }) => {
    const end = field.indexOf("/");
    return { step: field.slice(0, end), field: field.slice(end + 1), message };
  });
}

async function checkStep(
  { kinds, secrets }: DefinitionChecks,
  { owner, workflowId, keyId }: DefinitionSubject,
  definition: Definition,
  step: Step,
): Promise<readonly Fault[]> {
  const kind = kinds.find(step.kind);
  if (kind === undefined) return [];
  const fault = (field: string, message: string): Fault => ({ step: step.id, field, message });
  if (kind.administratorsOnly === true && owner.role !== "admin") {
    const message = `Only a workflow whose owner is an administrator may have a '${step.kind}' step. Let an administrator save it.`;
    return [fault("kind", message)];
  }
  const { settings } = step;
  const faults = await kind.check?.(settings, { owner, workflowId, keyId, step, definition });
  const missing = await Promise.all(
    secretsIn(settings["headers"], "headers").map(async ([field, name]) => {
      if (await secrets.exists(owner.ownerId, name)) return [];
      const message = `The workflow's owner has no secret '${name.slice(0, 64)}'. Store it with PUT /api/pipeline/secrets/{name}.`;
      return [fault(field, message)];
    }),
  );
  return [...(faults ?? []).map(({ field, message }) => fault(field, message)), ...missing.flat()];
}

/** Finds `{"secret": name}` in the headers of a step, with their places. */
function secretsIn(
  value: JsonValue | undefined,
  place: string,
): readonly (readonly [place: string, name: string])[] {
  if (Array.isArray(value)) {
    return value.flatMap((item: JsonValue, at) => secretsIn(item, `${place}[${at}]`));
  }
  if (!isJsonObject(value)) return [];
  const { secret } = value;
  if (typeof secret === "string" && Object.keys(value).length === 1) return [[place, secret]];
  return Object.entries(value).flatMap(([name, part]) => secretsIn(part, `${place}.${name}`));
}
