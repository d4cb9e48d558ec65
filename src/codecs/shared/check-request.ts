import * as z from "zod";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import {
  describeValue,
  findFault,
  formatPath,
  type Path,
  shownName,
  valueAt,
} from "../../lib/json/value-faults.ts";

/** Recognises usual values of fields, all of which the schema accepts, at a fraction of its cost. */
export type UsualValues = Readonly<Record<string, (value: unknown) => boolean>>;

const NOTHING_USUAL: UsualValues = {};

/** Only the first fault is reported, so zod stops there: a hundred thousand faults take seconds and much memory. */
const FIRST_FAULT: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

/**
 * Checks a value of the request. Throws `invalid_value` that names the first invalid field, what was expected and what
 * was received.
 */
export function checkRequest<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: Path = [],
  usual = NOTHING_USUAL,
): asserts value is z.infer<Schema> {
  if (hasSoundFields(schema, value, usual)) return;
  const { error } = schema.safeParse(value, FIRST_FAULT);
  if (error !== undefined) throw firstFault(error, value, at);
}

/** Reads a value of the request as its schema decodes it: defaults are filled in, codecs applied. Throws as `checkRequest`. */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  const { data, error } = schema.safeParse(value, FIRST_FAULT);
  if (error !== undefined) throw firstFault(error, value, []);
  return data as z.output<Schema>;
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
function hasSoundFields(schema: z.ZodType, value: unknown, usual: UsualValues): boolean {
  if (!fieldsOfSchemas.has(schema)) fieldsOfSchemas.set(schema, fieldsOf(schema));
  const fields = fieldsOfSchemas.get(schema);
  if (fields === undefined || !isJsonObject(value)) return false;
  for (const name of fields.required) {
    if (!Object.hasOwn(value, name)) return false;
  }
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(usual, name) && usual[name]?.(value[name])) continue;
    const field = fields.schemas.get(name);
    if (field !== undefined && !z.core.validate(field, value[name])) return false;
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
    `${subject} is invalid: expected ${expected}, received ${describeValue(path, received)}.`,
    param === "" ? {} : { param },
  );
}

/** The value is not repeated, because a misspelt name may precede a secret. */
function unknownField(path: Path, [key = ""]: readonly string[]): ServiceError {
  const param = formatPath([...path, shownName(key)]);
  return new ServiceError("unsupported_parameter", `'${param}' cannot be set here.`, { param });
}
