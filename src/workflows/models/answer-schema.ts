import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";

/** What may be wrong with an answer, in words for its model and for the workflow's owner. */
export interface AnswerFault {
  /** Names what the answer holds; only the model may see it. */
  readonly forModel: string;
  /** Names only what the schema says. */
  readonly forOwner: string;
}

/** Returns what is wrong with a value, or undefined. */
export type CheckAnswer = (value: JsonValue) => AnswerFault | undefined;

/**
 * A check costs at most a comparison of each value with each node. It runs in the gateway's own process, so both are
 * limited.
 */
const MAX_NODES = 2_000;
const MAX_VALUES = 5_000;
const MAX_DEPTH = 64;
const MAX_FAULTS = 5;
/** A text or expression of the author that a check would run on what a model wrote: it can take forever. */
const BACKTRACKING: ReadonlySet<string> = new Set(["pattern", "patternProperties"]);
const OTHER_REFERENCES: ReadonlySet<string> = new Set(["$dynamicRef", "$recursiveRef"]);
/** Values, and what is walked where it is referred to. */
const SKIPPED: ReadonlySet<string> = new Set([
  ...["const", "enum", "default", "examples"],
  ...["$defs", "definitions"],
]);

/** Compiles the schema of a step's answers (JSON Schema 2020-12). Throws an error that says what the schema may not have. */
export function compileAnswerSchema({
  $schema: _draft,
  $id: _id,
  ...schema
}: JsonObject): CheckAnswer {
  refuseCostly(schema, schema, { nodes: 0, references: [] });
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: false,
    ownProperties: true,
    addUsedSchema: false,
    logger: false,
  });
  const validate: ValidateFunction = ajv.compile(schema);
  return (value) => {
    if (countValues(value, 0) > MAX_VALUES) {
      const fault = `it has more than ${MAX_VALUES} values, or they are nested too deeply`;
      return { forModel: fault, forOwner: fault };
    }
    if (validate(value)) return undefined;
    const faults = (validate.errors ?? []).slice(0, MAX_FAULTS);
    return {
      forModel: faults.map(forModel).join("; "),
      forOwner: faults.map(forOwner).join("; "),
    };
  };
}

function forModel({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath === "" ? "the answer" : instancePath} ${message} ${JSON.stringify(params)}`;
}

/** The path in the schema, because names in the answer are the model's. */
function forOwner({ schemaPath, message }: ErrorObject): string {
  const place = schemaPath.replace(/^#\/?/, "").split("/").slice(0, -1).join("/");
  return `${place === "" ? "the answer" : place} ${message}`;
}

interface Walk {
  nodes: number;
  /** Those that led here. */
  readonly references: readonly string[];
}

/** Follows references, so that what is used ten times counts ten times. */
function refuseCostly(root: JsonObject, node: JsonValue | undefined, walk: Walk): void {
  if (typeof node !== "object" || node === null) return;
  walk.nodes += 1;
  if (walk.nodes > MAX_NODES) throw new Error(`It has more than ${MAX_NODES} parts.`);
  if (!isJsonObject(node)) {
    for (const item of node) refuseCostly(root, item, walk);
    return;
  }
  for (const [keyword, value] of Object.entries(node)) {
    refuseKeyword(keyword);
    for (const part of partsOf(keyword, value)) refuseCostly(root, part, walk);
    if (keyword === "$ref") follow(root, value, walk);
  }
}

function partsOf(
  keyword: string,
  value: JsonValue | undefined,
): readonly (JsonValue | undefined)[] {
  if (SKIPPED.has(keyword)) return [];
  return keyword === "properties" ? Object.values(value ?? {}) : [value];
}

function refuseKeyword(keyword: string): void {
  if (BACKTRACKING.has(keyword)) {
    throw new Error(`It has '${keyword}'. Leave it out, and check with a 'validate' step.`);
  }
  if (OTHER_REFERENCES.has(keyword)) throw new Error(`It has '${keyword}'. Use '$ref'.`);
}

function follow(root: JsonObject, reference: JsonValue | undefined, walk: Walk): void {
  if (typeof reference !== "string" || !/^#\/(?:\$defs|definitions)\/[^/]+$/.test(reference)) {
    throw new Error("It has a '$ref' that does not begin with '#/$defs/'.");
  }
  if (walk.references.includes(reference))
    throw new Error(`It refers to itself at '${reference}'.`);
  const [, holder = "", name = ""] = reference.split("/");
  const defined = root[holder];
  const target = isJsonObject(defined) ? defined[name] : undefined;
  if (target === undefined) throw new Error(`It refers to '${reference}', which it does not have.`);
  const inner = { nodes: walk.nodes, references: [...walk.references, reference] };
  refuseCostly(root, target, inner);
  walk.nodes = inner.nodes;
}

/** Stops above the limit. */
function countValues(value: JsonValue | undefined, depth: number): number {
  if (depth > MAX_DEPTH) return MAX_VALUES + 1;
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const item of Object.values(value)) {
    count += countValues(item, depth + 1);
    if (count > MAX_VALUES) break;
  }
  return count;
}
