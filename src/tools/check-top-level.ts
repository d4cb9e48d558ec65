import { isJsonObject, type JsonObject, type JsonValue } from "../lib/json/json.ts";

/** What is wrong, in the form in which the validator says it. */
export interface SchemaFault {
  readonly keyword: string;
  /** A JSON pointer. */
  readonly instancePath: string;
  readonly params: object;
  readonly message?: string;
}

/** Checks no more than which arguments are required and of which type each of them is. Returns the first fault. */
export function checkTopLevel(schema: JsonObject, args: JsonObject): SchemaFault | undefined {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const missing = required.find((name) => typeof name === "string" && !Object.hasOwn(args, name));
  if (missing !== undefined) {
    return { keyword: "required", instancePath: "", params: { missingProperty: missing } };
  }
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  for (const [name, value] of Object.entries(args)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const type = isJsonObject(property) ? property["type"] : undefined;
    if (type === undefined || isOfType(value, type)) continue;
    const path = name.replaceAll("~", "~0").replaceAll("/", "~1");
    return { keyword: "type", instancePath: `/${path}`, params: { type } };
  }
  return undefined;
}

function isOfType(value: unknown, type: JsonValue): boolean {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  const found = typeOf(value);
  return types.includes(found) || (found === "integer" && types.includes("number"));
}

/** The type of a value as JSON Schema names it. */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number" && Number.isInteger(value)) return "integer";
  return value === undefined ? "nothing" : typeof value;
}
