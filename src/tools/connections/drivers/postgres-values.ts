import type { JsonValue } from "../../../lib/json/json.ts";
import { float, integer, json } from "./values.ts";

/** The types of PostgreSQL that JSON has a type for, by their fixed ids. */
const DECODERS: ReadonlyMap<number, (text: string) => JsonValue> = new Map([
  [16, (text) => text === "t"],
  [20, integer],
  [21, integer],
  [23, integer],
  [26, integer],
  [114, json],
  [700, float],
  [701, float],
  [3802, json],
]);

/** Everything else is as PostgreSQL writes it: numeric, dates, intervals, arrays, bytes (`\x6869`). */
export function decodePostgres(value: Buffer | null, type: number): JsonValue {
  if (value === null) return null;
  const text = value.toString("utf8");
  return DECODERS.get(type)?.(text) ?? text;
}
