import { insertItem, sameJson, setValue } from "./json/json-edit.ts";
import { formatJson } from "./json/json-format.ts";
import { isObject, type JsonValue } from "./json/json-schema.ts";
import {
  type JsonFault,
  type JsonNode,
  type JsonPath,
  memberOf,
  nodeAt,
  parseJson,
  pathOfField,
} from "./json/json-text.ts";
import {
  type FlowSource,
  type FlowStep,
  inputsByPlace,
  joinSource,
  readSteps,
  splitSource,
} from "./workflow-graph.ts";

/** A workflow as the text that its page edits: what POST takes. Graph and forms are views of it and change it. */

type Fields = Readonly<Record<string, JsonValue>>;

/** What stands for a field that the text leaves out. */
const HEAD = {
  description: null,
  visibility: "private",
  key_id: null,
  timeout_seconds: 3_600,
  keep_rows: "all",
} as const;

/** The fields of a workflow that its text has. */
export const TEXT_FIELDS = ["name", ...Object.keys(HEAD), "triggers", "steps"];

export interface WorkflowDocument {
  readonly root: JsonNode;
  readonly value: Fields;
  readonly steps: readonly FlowStep[];
  readonly triggers: readonly Fields[];
}

/** A fault of the server, or of the text itself. */
export interface WorkflowFault {
  /** A step's id, or its place (`steps[3]`); null outside the steps. */
  readonly step: string | null;
  readonly field: string;
  readonly message: string;
}

/** Writes a workflow as the server has it; what has its default is left out. */
export function workflowText(workflow: Readonly<Record<string, unknown>>): string {
  const { name, triggers, steps } = workflow as Fields;
  const head = Object.entries(HEAD)
    .map(([field, preset]) => [field, (workflow as Fields)[field] ?? null, preset] as const)
    .filter(([, value, preset]) => !sameJson(value, preset))
    .map(([field, value]) => `  ${JSON.stringify(field)}: ${formatJson(value, 2)}`);
  return `{\n${[
    `  "name": ${JSON.stringify(name ?? "")}`,
    ...head,
    `  "triggers": ${listText(triggers)}`,
    `  "steps": ${listText(steps)}`,
  ].join(",\n")}\n}\n`;
}

/** One step a line where it fits. */
function listText(list: JsonValue | undefined): string {
  const items = Array.isArray(list) ? (list as readonly JsonValue[]) : [];
  if (items.length === 0) return "[]";
  return `[\n${items.map((item) => `    ${formatJson(item, 4, 5)}`).join(",\n")}\n  ]`;
}

export function readWorkflow(
  text: string,
): { readonly document: WorkflowDocument } | { readonly fault: JsonFault } {
  const parsed = parseJson(text);
  if ("fault" in parsed) return parsed;
  const { root } = parsed;
  if (!isObject(root.value)) {
    return { fault: { offset: root.start, message: "A workflow is an object: {…}." } };
  }
  const value = root.value as Fields;
  const triggers = Array.isArray(value["triggers"]) ? value["triggers"] : [];
  return {
    document: {
      root,
      value,
      steps: readSteps(value["steps"]),
      triggers: triggers.map((trigger: JsonValue) => (isObject(trigger) ? trigger : {}) as Fields),
    },
  };
}

/** Returns the change that makes a saved workflow what the text says: fields that it leaves out get their default. */
export function changeOf({ value }: WorkflowDocument): Fields {
  return { ...HEAD, triggers: [], ...value };
}

/** Returns where a fault stands: the field, else what should have it. Undefined for a step that is gone. */
export function placeOfFault(
  { root, steps }: WorkflowDocument,
  { step, field }: WorkflowFault,
): { readonly start: number; readonly end: number } | undefined {
  const at = step === null ? undefined : placeOfStep(steps, step);
  if (step !== null && at === undefined) return undefined;
  const path: JsonPath = [...(at === undefined ? [] : ["steps", at]), ...pathOfField(field)];
  for (let length = path.length; length > 0; length -= 1) {
    const node = nodeAt(root, path.slice(0, length));
    const name = path[length - 1];
    if (node === undefined) continue;
    if (typeof name !== "string") return node;
    const member = memberOf(nodeAt(root, path.slice(0, length - 1)), name);
    return { start: member?.start ?? node.start, end: node.end };
  }
  return { start: root.start, end: root.start + 1 };
}

/** Returns the place of a step by its id, or by its name in faults: `steps[3]`. */
export function placeOfStep(steps: readonly FlowStep[], name: string): number | undefined {
  const numbered = /^steps\[(\d+)\]$/.exec(name)?.[1];
  const at = numbered === undefined ? steps.findIndex(({ id }) => id === name) : Number(numbered);
  return at in steps ? at : undefined;
}

/** Sets the fields of a step; those that are not given are removed. */
export function setStep(text: string, at: number, fields: Fields): string {
  return setValue(text, ["steps", at], fields);
}

/** Sets one field of the workflow; undefined removes it. */
export function setHead(text: string, field: string, value: JsonValue | undefined): string {
  return setValue(text, [field], value);
}

/** Adds a step behind the one at `after`, whose successor then reads from it where it read by place. */
export function addStep(text: string, after: number, step: Fields): string {
  return insertInto(text, "steps", after + 1, step);
}

export function addTrigger(text: string, trigger: Fields): string {
  return insertInto(text, "triggers", Number.POSITIVE_INFINITY, trigger);
}

function insertInto(text: string, list: string, index: number, item: Fields): string {
  const hasList = nodeAt(documentOf(text).root, [list])?.items !== undefined;
  const whole = hasList ? text : setValue(text, [list], []);
  const count = nodeAt(documentOf(whole).root, [list])?.items?.length ?? 0;
  return insertItem(whole, [list], Math.min(index, count), item);
}

export function setTrigger(text: string, at: number, trigger: Fields | undefined): string {
  return setValue(text, ["triggers", at], trigger);
}

/** Renames a step, and what others read from it. Names in SQL and expressions stay as they are. */
export function renameStep(text: string, at: number, id: string): string {
  const { steps } = documentOf(text);
  const old = steps[at]?.id ?? "";
  let changed = setValue(text, ["steps", at, "id"], id);
  if (old === "") return changed;
  for (const step of steps) {
    const from = step.from?.map((source) => {
      const { step: name, output } = splitSource(source);
      return name === old ? joinSource({ step: id, output }) : source;
    });
    if (from !== undefined && !sameJson(from, step.from ?? [])) {
      changed = setFrom(changed, step, from);
    }
  }
  return changed;
}

/** Deletes a step. What read from it reads from what it read from. */
export function deleteStep(text: string, at: number): string {
  const { steps } = documentOf(text);
  const gone = steps[at];
  if (gone === undefined) return text;
  const inputs = gone.inputs.map(joinSource);
  let changed = text;
  for (const step of steps) {
    const reads = step.inputs.some((source) => source.step === gone.id);
    if (step.at === at || !reads || gone.id === "") continue;
    const from = step.inputs.flatMap((source) =>
      source.step === gone.id ? inputs : [joinSource(source)],
    );
    const left = steps.filter((one) => one.at !== at);
    const place = left.indexOf(step);
    const isByPlace = step.from === undefined && sameJson(from, inputsByPlace(left, place));
    if (!isByPlace) changed = setFrom(changed, step, [...new Set(from)]);
  }
  return setValue(changed, ["steps", at], undefined);
}

/** Lets a step read from an output, after what it reads already. */
export function connectSteps(text: string, source: FlowSource, at: number): string {
  const { steps } = documentOf(text);
  const step = steps[at];
  const name = joinSource(source);
  const now = step?.inputs.map(joinSource) ?? [];
  if (step === undefined || step.id === source.step || now.includes(name)) return text;
  return setInputs(text, at, [...now, name]);
}

/** Takes an output out of what a step reads. */
export function disconnectSteps(text: string, source: FlowSource, at: number): string {
  const now = documentOf(text).steps[at]?.inputs.map(joinSource) ?? [];
  return setInputs(
    text,
    at,
    now.filter((name) => name !== joinSource(source)),
  );
}

/** Sets what a step reads; nothing is written where it reads that by its place already. */
export function setInputs(text: string, at: number, from: readonly string[]): string {
  const { steps } = documentOf(text);
  const step = steps[at];
  if (step === undefined) return text;
  if (step.from === undefined && sameJson(from, inputsByPlace(steps, at))) return text;
  return setFrom(text, step, from);
}

/** A source may be written without its list: then it stays so. */
function setFrom(text: string, { at }: FlowStep, from: readonly string[]): string {
  const path = ["steps", at, "from"];
  const now = nodeAt(documentOf(text).root, path)?.value;
  const [only = ""] = from;
  return setValue(text, path, typeof now === "string" && from.length === 1 ? only : from);
}

function documentOf(text: string): WorkflowDocument {
  const read = readWorkflow(text);
  if ("fault" in read) throw new Error(`only JSON can be changed: ${read.fault.message}`);
  return read.document;
}
