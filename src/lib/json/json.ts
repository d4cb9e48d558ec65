/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/** Returns true for an object that is neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value that members lead to; undefined where there is none. */
export function memberAt(
  value: JsonValue | undefined,
  path: readonly string[],
): JsonValue | undefined {
  let found = value;
  for (const name of path) {
    found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}
