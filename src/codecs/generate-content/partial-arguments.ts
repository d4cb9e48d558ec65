import { isJsonObject } from "../../lib/json/json.ts";

type Key = string | number;
type Container = Map<Key, Value>;
type Value = string | number | boolean | null | Container;

/** One step of a path: `.name`, `['name']` or `[0]`. */
const STEP = /\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g;
const VALUE_FIELDS = ["stringValue", "numberValue", "boolValue"] as const;

/** Assembles the arguments of a call that are sent value by value, with strings in pieces. */
export class PartialArguments {
  readonly #root: Container = new Map();

  add(pieces: unknown): void {
    if (!Array.isArray(pieces)) return;
    for (const piece of pieces) {
      if (!isJsonObject(piece) || typeof piece["jsonPath"] !== "string") continue;
      const value = readValue(piece);
      if (value !== undefined) this.#put(readPath(piece["jsonPath"]), value);
    }
  }

  /** Returns the arguments as the text of a JSON object. */
  toText(): string {
    return writeContainer(this.#root);
  }

  #put(path: readonly Key[], value: string | number | boolean | null): void {
    const last = path.at(-1);
    if (last === undefined) return;
    let container = this.#root;
    for (const key of path.slice(0, -1)) {
      const inner = container.get(key);
      const next: Container = inner instanceof Map ? inner : new Map();
      if (next !== inner) container.set(key, next);
      container = next;
    }
    const before = container.get(last);
    const isMore = typeof before === "string" && typeof value === "string";
    container.set(last, isMore ? before + value : value);
  }
}

function readValue(
  piece: Readonly<Record<string, unknown>>,
): string | number | boolean | null | undefined {
  if ("nullValue" in piece) return null;
  for (const field of VALUE_FIELDS) {
    const value = piece[field];
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      return value;
    }
  }
  return undefined;
}

function readPath(path: string): Key[] {
  return Array.from(path.matchAll(STEP), ([, name, index, single, double]) =>
    index === undefined ? (name ?? single ?? double ?? "") : Number(index),
  );
}

/** Writes an object, or an array if all keys are numbers. Elements keep their order of arrival. */
function writeContainer(container: Container): string {
  const isArray =
    container.size > 0 && [...container.keys()].every((key) => typeof key === "number");
  if (isArray) return `[${Array.from(container.values(), writeValue).join(",")}]`;
  const members = Array.from(
    container,
    ([key, value]) => `${JSON.stringify(String(key))}:${writeValue(value)}`,
  );
  return `{${members.join(",")}}`;
}

function writeValue(value: Value): string {
  return value instanceof Map ? writeContainer(value) : JSON.stringify(value);
}
