import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";

/** Returns what a pointer such as `#/$defs/size` points to within a schema; undefined where there is nothing. */
export function followPointer(root: JsonObject, pointer: string): JsonValue | undefined {
  let target: JsonValue | undefined = root;
  for (const word of pointer.split("/").slice(1)) target = valueIn(target, decodePointer(word));
  return target;
}

function valueIn(container: JsonValue | undefined, name: string): JsonValue | undefined {
  const isInside =
    typeof container === "object" && container !== null && Object.hasOwn(container, name);
  return isInside ? (Reflect.get(container, name) as JsonValue) : undefined;
}

function decodePointer(word: string): string {
  const plain = word.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}
