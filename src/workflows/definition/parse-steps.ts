import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import type { StepKinds } from "../steps/registry.ts";
import type { StepKind } from "../steps/step-kind.ts";
import { type Fault, MAX_STEPS, ON_ROW_ERROR, type Step } from "./definition.ts";
import { readFields, unknownName } from "./describe-faults.ts";

const ID = /^[a-z][a-z0-9_]{0,39}$/;
const MAX_RETRIES = 10;
/** One day. */
const MAX_TIMEOUT_SECONDS = 86_400;

const common = {
  id: z.string().regex(ID, "a-z, 0-9 and '_', a letter first, up to 40 characters"),
  kind: z.string(),
  /** One source may be written without its list. */
  from: z
    .preprocess(
      (given) => (typeof given === "string" ? [given] : given),
      z.array(z.string()).max(MAX_STEPS),
    )
    .optional(),
  run_on_empty: z.boolean().default(false),
  retries: z.int().min(0).max(MAX_RETRIES).default(2),
  timeout_seconds: z.int().min(1).max(MAX_TIMEOUT_SECONDS).optional(),
  on_row_error: z.enum(ON_ROW_ERROR).default("fail"),
};
/** The fields that steps of every kind have. */
export const COMMON_FIELDS = z.strictObject(common);
const COMMON_NAMES = Object.keys(common);

/** A step as far as it could be read. */
export interface ReadStep {
  readonly at: number;
  /** How faults name it: its id, or its place. */
  readonly name: string;
  readonly id: string | undefined;
  readonly kind: StepKind | undefined;
  /** As it was sent; undefined when it was not, or is no list of texts. */
  readonly from: readonly string[] | undefined;
  /** Undefined when a field of it is wrong. `from` is not resolved yet. */
  readonly step: Step | undefined;
}

/** Reads the steps one by one. What they read from each other is left to `connectSteps`. */
export function parseSteps(
  given: unknown,
  kinds: StepKinds,
): { readonly steps: readonly ReadStep[]; readonly faults: readonly Fault[] } {
  const fault = (message: string): Fault => ({ step: null, field: "steps", message });
  if (!Array.isArray(given) || given.length === 0) {
    return { steps: [], faults: [fault("Expected a list of at least one step.")] };
  }
  const faults: Fault[] = [];
  if (given.length > MAX_STEPS) {
    const advice = "Move some of them into a second workflow, which `run_workflow` starts.";
    faults.push(fault(`There are ${given.length} steps; at most ${MAX_STEPS} fit. ${advice}`));
  }
  const steps = given.slice(0, MAX_STEPS).map((value, at) => readStep(value, at, kinds, faults));
  return { steps, faults };
}

function readStep(value: unknown, at: number, kinds: StepKinds, faults: Fault[]): ReadStep {
  const place = `steps[${at}]`;
  if (!isJsonObject(value)) {
    faults.push({ step: place, field: "", message: "Expected an object with 'id' and 'kind'." });
    return { at, name: place, id: undefined, kind: undefined, from: undefined, step: undefined };
  }
  const [shared, own] = splitFields(value);
  const id = typeof shared["id"] === "string" && ID.test(shared["id"]) ? shared["id"] : undefined;
  const name = id ?? place;
  const report = (found: readonly Omit<Fault, "step">[]) =>
    faults.push(...found.map((fault) => ({ ...fault, step: name })));
  const read = readFields(COMMON_FIELDS, shared);
  if ("faults" in read) report(read.faults);
  const { kind: kindName } = shared;
  const kind = typeof kindName === "string" ? kinds.find(kindName) : undefined;
  if (typeof kindName === "string" && kind === undefined) {
    const names = kinds.list.map((known) => known.kind);
    report([{ field: "kind", message: unknownName("kind of step", kindName, names) }]);
  }
  const settings = kind === undefined ? undefined : readFields(kind.schema, own, COMMON_NAMES);
  if (settings !== undefined && "faults" in settings) report(settings.faults);
  const isWhole = "fields" in read && settings !== undefined && "fields" in settings;
  return {
    ...{ at, name, id, kind },
    from: "fields" in read ? read.fields.from : sentFrom(shared["from"]),
    step: isWhole ? { ...read.fields, from: [], settings: settings.fields } : undefined,
  };
}

/** Separates the fields of every step from those of its kind. */
function splitFields(value: JsonObject): readonly [shared: JsonObject, own: JsonObject] {
  const isShared = ([name]: readonly [string, unknown]) => Object.hasOwn(common, name);
  const entries = Object.entries(value);
  return [
    Object.fromEntries(entries.filter(isShared)),
    Object.fromEntries(entries.filter((entry) => !isShared(entry))),
  ];
}

function sentFrom(from: unknown): readonly string[] | undefined {
  const list = typeof from === "string" ? [from] : from;
  const isList = Array.isArray(list) && list.every((source) => typeof source === "string");
  return isList ? list : undefined;
}
