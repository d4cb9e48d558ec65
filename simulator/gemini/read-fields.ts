import { type Json, objectOf } from "../json.ts";
import { badPayload } from "./gemini-error.ts";
import type { MessageShape } from "./gemini-fields.ts";

/** Returns the message with its fields in camel case. Throws Google's error for an unknown field. */
export function readFields(value: Json, shape: MessageShape, at = ""): Json {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => {
        const key = camelCase(name);
        const inner = shape[key];
        if (inner === undefined) throw unknownField(name, at);
        return [key, inner === "any" ? field : readField(field, inner, pathOf(at, key))];
      }),
  );
}

/** Creates the error for an unknown field. */
export function unknownField(name: string, at: string): Error {
  const place = at === "" ? "" : ` at '${at}'`;
  return badPayload(
    at,
    `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`,
  );
}

function readField(value: unknown, shape: MessageShape, at: string): unknown {
  if (Array.isArray(value)) {
    return value.map((item, index) => readField(item, shape, `${at}[${index}]`));
  }
  const message = objectOf(value);
  if (message) return readFields(message, shape, at);
  throw badPayload(at, `Invalid value at '${at}', ${JSON.stringify(value)}`);
}

function pathOf(at: string, key: string): string {
  const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return at === "" ? name : `${at}.${name}`;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
