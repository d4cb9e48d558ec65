import * as z from "zod";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject } from "../../lib/json.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

const MAX_SHOWN_LENGTH = 40;
/** Fields whose values, and what is in them, are never repeated in an error, not even their beginning. */
const SECRET_FIELD = /password|secret|^headers$/i;

/**
 * Checks a value of the request. Throws `invalid_value` that names the first invalid field, what was expected and what
 * was received.
 */
export function checkRequest<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: Path = [],
): asserts value is z.infer<Schema> {
  if (hasSoundFields(schema, value)) return;
  const { error } = schema.safeParse(value);
  if (error !== undefined) throw firstFault(error, value, at);
}

/** Reads a value of the request as its schema decodes it: defaults are filled in, codecs applied. Throws as `checkRequest`. */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  const { data, error } = schema.safeParse(value);
  if (error !== undefined) throw firstFault(error, value, []);
  return data as z.output<Schema>;
}

/** One fault of a value, for callers that report all of them. */
export interface ValueFault {
  readonly path: Path;
  /** What the field should hold; null for a field that the schema does not define. */
  readonly expected: string | null;
  /** Describes the value, by at most its beginning. */
  readonly received: string;
}

/** Lists everything that a schema found in a value, in its order. */
export function listFaults({ issues }: z.ZodError, value: unknown): readonly ValueFault[] {
  return issues.flatMap((issue): ValueFault[] => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        path: [...issue.path, key.slice(0, MAX_SHOWN_LENGTH)],
        expected: null,
        received: "",
      }));
    }
    const { path, expected } = findFault(issue);
    return [{ path, expected, received: describe(path, valueAt(value, path)) }];
  });
}

function firstFault({ issues }: z.ZodError, value: unknown, at: Path): ServiceError {
  const [issue] = issues;
  if (issue === undefined) return invalidValue(at, "another value", value);
  if (issue.code === "unrecognized_keys") return unknownField([...at, ...issue.path], issue.keys);
  const { path, expected } = findFault(issue);
  return invalidValue([...at, ...path], expected, valueAt(value, path));
}

/** The fields of an object schema. */
interface Fields {
  readonly schemas: ReadonlyMap<string, z.core.$ZodType>;
  readonly required: readonly string[];
}

const fieldsOfSchemas = new WeakMap<z.ZodType, Fields | undefined>();

/**
 * Returns true when every field present is valid and none is missing. An object schema checks every possible field,
 * though most requests set few of them; so it runs only when there is a fault to find.
 */
function hasSoundFields(schema: z.ZodType, value: unknown): boolean {
  if (!fieldsOfSchemas.has(schema)) fieldsOfSchemas.set(schema, fieldsOf(schema));
  const fields = fieldsOfSchemas.get(schema);
  if (fields === undefined || !isJsonObject(value)) return false;
  for (const name of fields.required) {
    if (!Object.hasOwn(value, name)) return false;
  }
  for (const name of Object.keys(value)) {
    const field = fields.schemas.get(name);
    if (field !== undefined && !z.core.safeParse(field, value[name]).success) return false;
  }
  return true;
}

/**
 * Returns undefined when the fields do not decide the result by themselves: a check of the whole object, or unknown
 * names that are not allowed.
 */
function fieldsOf(schema: z.ZodType): Fields | undefined {
  if (!(schema instanceof z.ZodObject)) return undefined;
  const { shape, catchall, checks = [] } = schema.def;
  if (checks.length > 0 || (catchall !== undefined && !(catchall instanceof z.ZodUnknown))) {
    return undefined;
  }
  const schemas = new Map(Object.entries(shape));
  // A schema that accepts `undefined` may still require the field.
  const required = [...schemas].filter(
    ([, field]) => field._zod.optin === undefined || !z.core.safeParse(field, undefined).success,
  );
  return { schemas, required: required.map(([name]) => name) };
}

/** Returns the error for a field with an invalid value. */
export function invalidValue(path: Path, expected: string, received: unknown): ServiceError {
  const param = formatPath(path);
  const subject = param === "" ? "The body" : `'${param}'`;
  return new ServiceError(
    "invalid_value",
    `${subject} is invalid: expected ${expected}, received ${describe(path, received)}.`,
    param === "" ? {} : { param },
  );
}

/** The value is not repeated, because a misspelt name may precede a secret. */
function unknownField(path: Path, [key = ""]: readonly string[]): ServiceError {
  const param = formatPath([...path, key.slice(0, MAX_SHOWN_LENGTH)]);
  return new ServiceError("unsupported_parameter", `'${param}' cannot be set here.`, { param });
}

interface Fault {
  readonly path: Path;
  readonly expected: string;
}

/**
 * Selects the alternative of a union that matched the value to the greatest depth, as the one that the client meant.
 */
function findFault(issue: Issue): Fault {
  if (issue.code !== "invalid_union" || issue.errors.length === 0) {
    return { path: issue.path, expected: expectedBy(issue) };
  }
  const faults = issue.errors.flatMap((issues) => issues.slice(0, 1)).map(findFault);
  const depth = Math.max(...faults.map(({ path }) => path.length));
  const deepest = faults.filter(({ path }) => path.length === depth);
  const [first] = deepest;
  const expected = deepest.map((fault) => fault.expected).join(" or ");
  return { path: [...issue.path, ...(first?.path ?? [])], expected };
}

function expectedBy(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "nonoptional" ? "a value" : withArticle(issue.expected);
    case "invalid_value":
      return oneOf(issue.values);
    case "invalid_union":
      return oneOf("options" in issue && Array.isArray(issue.options) ? issue.options : []);
    case "too_small":
      return issue.origin === "number"
        ? `at least ${issue.minimum}`
        : `a non-empty ${issue.origin}`;
    case "too_big":
      return `at most ${issue.maximum}`;
    default:
      return issue.message.replace(/^expected /, "");
  }
}

function withArticle(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function oneOf(values: readonly unknown[]): string {
  const words = values.map((value) => JSON.stringify(value));
  return words.length === 1 ? String(words[0]) : `one of ${words.join(", ")}`;
}

/** Describes a value by at most its beginning: it may be long, and only its sender may see it. */
function describe(path: Path, value: unknown): string {
  // Query parameters are converted to numbers before they are checked.
  if (Number.isNaN(value)) return "a text that is no number";
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (path.some((field) => SECRET_FIELD.test(String(field)))) return withArticle(typeof value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  switch (typeof value) {
    case "string":
      return value.length > MAX_SHOWN_LENGTH
        ? `the string ${JSON.stringify(`${value.slice(0, MAX_SHOWN_LENGTH)}…`)}`
        : `the string ${JSON.stringify(value)}`;
    case "number":
    case "boolean":
      return `the ${typeof value} ${value}`;
    default:
      return withArticle(typeof value);
  }
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) {
      return undefined;
    }
    current = Reflect.get(current, key);
  }
  return current;
}

/** Formats a path as `messages[0].content`. */
export function formatPath(path: Path): string {
  return path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "");
}
