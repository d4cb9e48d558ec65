import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import type { CleanBudget } from "./clean-budget.ts";
import { cleanText } from "./clean-text.ts";

export const MAX_DEPTH = 32;
/** What a value without text costs: a number, a word, or the brackets of a list with a comma. */
export const SMALL_BYTES = 4;

/** What a copy is made with. */
export interface Copying {
  readonly depth: number;
  readonly budget: CleanBudget;
  /** What has not been copied whole so far; a part that makes it grow has lost something. */
  readonly losses: { count: number };
}

export function copyText(value: string, budget: CleanBudget): string {
  budget.spendText(value);
  return cleanText(value);
}

/** Returns the names of a list without repetitions; undefined where it is no list of names. */
export function copyNames(value: JsonValue, budget: CleanBudget): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const copies = new Set<string>();
  for (const name of value) {
    budget.spend(1);
    if (typeof name !== "string") return undefined;
    copies.add(copyText(name, budget));
  }
  return [...copies];
}

/** Returns a value, whose parts are null where it is too deep. */
export function copyValue(value: JsonValue, copying: Copying): JsonValue | undefined {
  const { depth, budget, losses } = copying;
  if (typeof value === "string") return copyText(value, budget);
  budget.spend(typeof value === "number" ? String(value).length : SMALL_BYTES);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) {
    losses.count += 1;
    return undefined;
  }
  const below = { ...copying, depth: depth + 1 };
  const copyItem = (item: JsonValue) => copyValue(item, below) ?? null;
  if (!Array.isArray(value)) return mapEntries(value as JsonObject, budget, copyItem);
  budget.spend(value.length);
  return value.map(copyItem);
}

/** Unlike an assignment, it makes a property even of the name `__proto__`. */
export function mapEntries(
  value: JsonObject,
  budget: CleanBudget,
  change: (item: JsonValue) => JsonValue,
): JsonObject {
  const given = Object.keys(value);
  budget.spend(given.length * 2);
  return Object.fromEntries(
    given.map((name) => [copyText(name, budget), change(value[name] ?? null)]),
  );
}
