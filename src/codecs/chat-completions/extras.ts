import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";

type Entries = [name: string, value: JsonValue | undefined][];

/**
 * Returns the vendor's own fields of an object; undefined when it has none. Null and `{}` carry no information and are
 * dropped.
 */
export function readExtras(object: JsonObject, known: ReadonlySet<string>): JsonObject | undefined {
  let entries: Entries | undefined;
  for (const name in object) {
    const value = object[name];
    if (known.has(name) || saysNothing(value)) continue;
    entries ??= [];
    entries.push([name, value]);
  }
  return entries === undefined ? undefined : Object.fromEntries(entries);
}

/** Returns the extras with the wanted names; undefined when there are none. */
export function pickExtras(
  extras: JsonObject,
  isWanted: (name: string) => boolean,
): JsonObject | undefined {
  const entries = Object.entries(extras).filter(([name]) => isWanted(name));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** Returns a choice whose `logprobs` has every member that clients expect. */
export function withWholeLogprobs(choice: JsonObject): JsonObject {
  const { logprobs } = choice;
  if (!isJsonObject(logprobs)) return choice;
  return { ...choice, logprobs: { content: null, refusal: null, ...logprobs } };
}

/**
 * Joins the extras of several pieces. Arrays are concatenated, also those one level down; otherwise the last value
 * wins.
 */
export function joinExtras(pieces: readonly (JsonObject | undefined)[]): JsonObject | undefined {
  if (pieces.every((piece) => piece === undefined)) return undefined;
  const joined = new Map<string, JsonValue | undefined>();
  const growing: Growing = new Map();
  for (const piece of pieces) {
    for (const [name, value] of Object.entries(piece ?? {})) {
      joined.set(name, joinValues(joined.get(name), value, growing));
    }
  }
  return joined.size === 0 ? undefined : Object.fromEntries(joined);
}

/** Arrays that were made here, by themselves: some vendors send an array in each of thousands of pieces. */
type Growing = Map<JsonValue, JsonValue[]>;

function joinValues(
  one: JsonValue | undefined,
  other: JsonValue | undefined,
  growing: Growing,
): typeof one {
  if (Array.isArray(one) && Array.isArray(other)) return joinArrays(one, other, growing);
  if (isJsonObject(one) && isJsonObject(other)) {
    const members = { ...one };
    for (const [name, value] of Object.entries(other)) {
      const before = members[name];
      const areArrays = Array.isArray(before) && Array.isArray(value);
      members[name] = areArrays ? joinArrays(before, value, growing) : value;
    }
    return members;
  }
  return other;
}

function joinArrays(
  one: readonly JsonValue[],
  other: readonly JsonValue[],
  growing: Growing,
): JsonValue[] {
  const joined = growing.get(one) ?? [...one];
  growing.set(joined, joined);
  for (const value of other) joined.push(value);
  return joined;
}

function saysNothing(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined) return true;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
