import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { isJsonObject, type JsonObject } from "../lib/json.ts";
import { isDeeperThan } from "../lib/json-depth.ts";
import type { Tool } from "./tool.ts";

/** Either the arguments, or the text that says what is wrong with them. */
export type CheckedArguments =
  | { readonly args: JsonObject; readonly fault?: undefined }
  | { readonly fault: string };

const MAX_DEPTH = 64;
const MAX_BYTES = 1024 * 1024;
const NAME_SHOWN = 80;

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
const OLDER_DRAFT = /draft-0[4-7]/;
const validators = new WeakMap<JsonObject, ValidateFunction | Error>();

/** Reads the arguments that a model has written for a tool. No text at all counts as no arguments. */
export function readArguments(tool: Tool, text: string): CheckedArguments {
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_BYTES) return faulty(tool, "the arguments are too long");
  if (isDeeperThan(MAX_DEPTH, bytes)) return faulty(tool, "the arguments are nested too deeply");
  let args: unknown;
  try {
    args = text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    return faulty(tool, "the arguments are not valid JSON");
  }
  return checkArguments(tool, args);
}

/** Checks arguments against the tool's schema. They are never coerced. Texts name the tool and the argument. */
export function checkArguments(tool: Tool, args: unknown): CheckedArguments {
  if (!isJsonObject(args)) {
    return faulty(tool, `the arguments must be an object, got ${typeOf(args)}`);
  }
  const validate = validatorOf(tool.parameters);
  if (validate instanceof Error) return faulty(tool, "its schema cannot be used");
  if (validate(args)) return { args };
  const [error] = validate.errors ?? [];
  return faulty(tool, error === undefined ? "the arguments are invalid" : describe(error, args));
}

function faulty({ name }: Tool, what: string): CheckedArguments {
  return { fault: `Tool '${name}': ${what}.` };
}

/** Compiled once for each schema object. */
function validatorOf(schema: JsonObject): ValidateFunction | Error {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  const made = compile(schema);
  validators.set(schema, made);
  return made;
}

function compile({ $schema: draft, $id: _id, ...schema }: JsonObject): ValidateFunction | Error {
  const isOlder = typeof draft === "string" && OLDER_DRAFT.test(draft);
  try {
    return (isOlder ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS)).compile(schema);
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error("the schema does not compile");
  }
}

function describe(error: ErrorObject, args: JsonObject): string {
  const { keyword, instancePath, message = "is invalid" } = error;
  const params: Readonly<Record<string, unknown>> = error.params;
  const path = instancePath.split("/").slice(1).map(unescaped);
  switch (keyword) {
    case "required":
      return `argument '${nameOf([...path, String(params["missingProperty"])])}' is missing`;
    case "additionalProperties":
    case "unevaluatedProperties": {
      const added = params["additionalProperty"] ?? params["unevaluatedProperty"];
      return `argument '${nameOf([...path, String(added)])}' is unknown`;
    }
    case "type": {
      const expected = [params["type"]].flat().join(" or ");
      return `argument '${nameOf(path)}' must be ${expected}, got ${typeOf(valueAt(args, path))}`;
    }
    case "enum": {
      const allowed = [params["allowedValues"]].flat().map((value) => JSON.stringify(value));
      return `argument '${nameOf(path)}' must be one of ${allowed.join(", ").slice(0, 500)}`;
    }
    default:
      return path.length === 0
        ? `the arguments ${message}`
        : `argument '${nameOf(path)}' ${message}`;
  }
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

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number" && Number.isInteger(value)) return "integer";
  return value === undefined ? "nothing" : typeof value;
}
