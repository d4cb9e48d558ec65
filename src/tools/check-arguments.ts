import { Ajv, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { isJsonObject, type JsonObject } from "../lib/json/json.ts";
import { isDeeperThan } from "../lib/json/json-depth.ts";
import { findExcess, MAX_SERVER_BYTES } from "./argument-bounds.ts";
import { checkTopLevel, type SchemaFault, typeOf } from "./check-top-level.ts";
import { findChangedNumber } from "./find-changed-number.ts";
import { readCheckedSchema } from "./schema-bounds.ts";
import type { Tool } from "./tool.ts";

/** Either the arguments, or the text that says what is wrong with them. */
export type CheckedArguments =
  | { readonly args: JsonObject; readonly fault?: undefined }
  /** `argument` is the one that is wrong, where one is. */
  | { readonly fault: string; readonly argument?: string | undefined };

const MAX_DEPTH = 64;
const MAX_BYTES = 1024 * 1024;
const NAME_SHOWN = 80;
/** Characters of the values or names that an error lists. */
const ALLOWED_SHOWN = 500;

// Schemas of tool servers use keywords and formats that no validator knows; they are left to the server.
const OPTIONS: Options = {
  strict: false,
  allErrors: false,
  validateFormats: false,
  validateSchema: false,
  ownProperties: true,
  addUsedSchema: false,
  logger: false,
};
const UNNAMED: SchemaFault = { keyword: "", instancePath: "", params: {}, message: "are invalid" };
const OLDER_DRAFT = /draft-0[4-7]/;

interface Check {
  /** An error where the schema cannot be used. */
  readonly findFault: Error | ((args: JsonObject) => SchemaFault | undefined);
  /** How many comparisons a value may need. */
  readonly weight: number;
}

const checks = new WeakMap<JsonObject, Check>();
/** Those for tool servers by the text of their schema, because each listing of the same schema is another object. */
const serverChecks = new Map<string, Check>();
const MAX_SERVER_CHECKS = 500;

/** Reads the arguments that a model has written for a tool. No text at all counts as no arguments. */
export function readArguments(tool: Tool, text: string): CheckedArguments {
  const bytes = Buffer.from(text);
  const maxBytes = tool.source === "mcp" ? MAX_SERVER_BYTES : MAX_BYTES;
  if (bytes.length > maxBytes) return faulty(tool, "the arguments are too long");
  if (isDeeperThan(MAX_DEPTH, bytes)) return faulty(tool, "the arguments are nested too deeply");
  let args: unknown;
  try {
    args = text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    return faulty(tool, "the arguments are not valid JSON");
  }
  const checked = checkArguments(tool, args);
  if (checked.fault !== undefined) return checked;
  const changed = findChangedNumber(text, checked.args);
  if (changed === undefined) return checked;
  // The tool would act on another object than the model has named.
  const argument = nameOf(changed);
  const what = `argument '${argument}' is a number too large to be kept exactly; pass it as text`;
  return { ...faulty(tool, what), argument };
}

/**
 * Checks arguments against the tool's schema. They are never coerced. Texts name the tool and the argument. Of tool
 * servers both are bounded, because a check holds up everybody else: what is too large here, the server checks itself.
 */
export function checkArguments(tool: Tool, args: unknown): CheckedArguments {
  if (!isJsonObject(args)) {
    return faulty(tool, `the arguments must be an object, got ${typeOf(args)}`);
  }
  const { findFault, weight } = checkOf(tool);
  const excess = tool.source === "mcp" ? findExcess(args, weight) : undefined;
  if (excess !== undefined) return faulty(tool, excess);
  if (findFault instanceof Error) return faulty(tool, "its schema cannot be used");
  const fault = findFault(args);
  if (fault === undefined) return { args };
  const argument = argumentOf(fault);
  return { ...faulty(tool, describe(fault, args, tool.parameters)), ...(argument && { argument }) };
}

function faulty({ name }: Tool, what: string): { readonly fault: string } {
  return { fault: `Tool '${name}': ${what}.` };
}

/** Made at the first call, and once for each schema object. */
function checkOf({ source, parameters }: Tool): Check {
  const known = checks.get(parameters);
  if (known !== undefined) return known;
  const made =
    source === "mcp" ? serverCheckOf(parameters) : { findFault: compile(parameters), weight: 0 };
  checks.set(parameters, made);
  return made;
}

function serverCheckOf(parameters: JsonObject): Check {
  const checked = readCheckedSchema(parameters);
  if (checked === undefined) {
    return { findFault: (args) => checkTopLevel(parameters, args), weight: 1 };
  }
  const known = serverChecks.get(checked.text);
  if (known !== undefined) return known;
  const made = { findFault: compile(JSON.parse(checked.text)), weight: checked.weight };
  serverChecks.set(checked.text, made);
  for (const oldest of serverChecks.keys()) {
    if (serverChecks.size <= MAX_SERVER_CHECKS) break;
    serverChecks.delete(oldest);
  }
  return made;
}

function compile({ $schema: draft, $id: _id, ...schema }: JsonObject): Check["findFault"] {
  const isOlder = typeof draft === "string" && OLDER_DRAFT.test(draft);
  let validate: ValidateFunction;
  try {
    validate = (isOlder ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS)).compile(schema);
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error("the schema does not compile");
  }
  return (args) => (validate(args) ? undefined : (validate.errors?.[0] ?? UNNAMED));
}

/** The argument that a fault is about; that of one which is missing or unknown is the argument itself. */
function argumentOf({ instancePath, params: given }: SchemaFault): string {
  const params: Readonly<Record<string, unknown>> = { ...given };
  const path = instancePath.split("/").slice(1).map(unescaped);
  const within =
    params["missingProperty"] ?? params["additionalProperty"] ?? params["unevaluatedProperty"];
  return nameOf(within === undefined ? path : [...path, String(within)]);
}

function describe(error: SchemaFault, args: JsonObject, parameters: JsonObject): string {
  const { keyword, instancePath, message = "is invalid" } = error;
  const params: Readonly<Record<string, unknown>> = { ...error.params };
  const path = instancePath.split("/").slice(1).map(unescaped);
  switch (keyword) {
    case "required":
      return `argument '${nameOf([...path, String(params["missingProperty"])])}' is missing`;
    case "additionalProperties":
    case "unevaluatedProperties": {
      const added = params["additionalProperty"] ?? params["unevaluatedProperty"];
      const known = path.length === 0 ? knownNames(parameters) : "";
      return `argument '${nameOf([...path, String(added)])}' is unknown${known}`;
    }
    case "type": {
      const expected = [params["type"]].flat().join(" or ");
      return `argument '${nameOf(path)}' must be ${expected}, got ${typeOf(valueAt(args, path))}`;
    }
    case "enum": {
      const allowed = [params["allowedValues"]].flat().map((value) => JSON.stringify(value));
      return `argument '${nameOf(path)}' must be one of ${allowed.join(", ").slice(0, ALLOWED_SHOWN)}`;
    }
    default:
      return path.length === 0
        ? `the arguments ${message}`
        : `argument '${nameOf(path)}' ${message}`;
  }
}

/** A model that misspelled an argument finds the right one in the error. */
function knownNames({ properties }: JsonObject): string {
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  if (names.length === 0) return "";
  return `; there is ${names
    .map((name) => `'${name}'`)
    .join(", ")
    .slice(0, ALLOWED_SHOWN)}`;
}

/** Undoes the escapes of a JSON pointer. */
function unescaped(word: string): string {
  return word.replaceAll("~1", "/").replaceAll("~0", "~");
}

function nameOf(path: readonly string[]): string {
  const [first = "", ...rest] = path;
  const name = rest.reduce(
    (all, word) => all + (/^\d+$/.test(word) ? `[${word}]` : `.${word}`),
    first,
  );
  return name.slice(0, NAME_SHOWN);
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const word of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, word))
      return undefined;
    value = Reflect.get(value, word);
  }
  return value;
}
