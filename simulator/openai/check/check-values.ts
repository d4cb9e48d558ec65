import type { Json } from "../../json.ts";
import { invalid } from "../openai-error.ts";

export interface Range {
  readonly kind: "decimal" | "integer";
  readonly from: number;
  readonly to: number;
}

/** Throws OpenAI's error for a value that is not a number or is out of range; null means absent. */
export function checkNumber(body: Json, param: string, { kind, from, to }: Range): void {
  const value = body[param];
  if (value === undefined || value === null) return;
  const expected = kind === "decimal" ? "a decimal" : "an integer";
  const fits = typeof value === "number" && (kind === "decimal" || Number.isInteger(value));
  if (!fits) throw wrongType(param, expected, value);
  const word = kind === "decimal" ? "decimal" : "integer";
  if (value < from) {
    const message = `Invalid '${param}': ${word} below minimum value. Expected a value >= ${from}, but got ${value} instead.`;
    throw invalid(message, param, `${word}_below_min_value`);
  }
  if (value > to) {
    const message = `Invalid '${param}': ${word} above maximum value. Expected a value <= ${to}, but got ${value} instead.`;
    throw invalid(message, param, `${word}_above_max_value`);
  }
}

export function wrongType(param: string, expected: string, value: unknown): Error {
  const message = `Invalid type for '${param}': expected ${expected}, but got ${typeNameOf(value)} instead.`;
  return invalid(message, param, "invalid_type");
}

export function missing(param: string): Error {
  const message = `Missing required parameter: '${param}'.`;
  return invalid(message, param, "missing_required_parameter");
}

export function emptyArray(param: string): Error {
  const message = `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`;
  return invalid(message, param, "empty_array");
}

function typeNameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a decimal";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
