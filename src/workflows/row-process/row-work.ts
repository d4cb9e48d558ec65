import type { JsonObject } from "../../lib/json/json.ts";
import { storableText } from "../../lib/text/storable-text.ts";
import type { OnRowError } from "../definition/definition.ts";
import type { Row } from "../rows/row.ts";
import type { ExpressionScope } from "./row-process.ts";

/** The job of a row process as the server sends it. */
export interface SentJob {
  readonly program: string;
  readonly settings: JsonObject;
  readonly scope: ExpressionScope;
  readonly onRowError: OnRowError;
  readonly inputs: readonly SentInput[];
  /** An empty folder of this job; the server removes it. */
  readonly folder: string;
}

export interface SentInput {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
}

/** One line of an input: a row as JSON text, without its end. */
export interface InputLine {
  readonly text: string;
  /** Counted from 1 over all inputs. */
  readonly number: number;
}

/** A job that cannot go on; its code and message become those of the step's failure. */
export class ProgramFailure extends Error {
  override readonly name = "ProgramFailure";
  readonly code: string;

  constructor(code: string, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}

/** A row that a program could not take. */
export class RowFault extends Error {
  override readonly name = "RowFault";
  readonly code: string;

  constructor(code: string, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}

/** What a condition is whose result is no boolean. */
export function noCondition(expression: string): RowFault {
  const message = `The condition '${shown(expression)}' is neither true nor false. Compare it with a value.`;
  return new RowFault("expression_failed", message);
}

/** An expression as messages show it. */
export function shown(expression: string): string {
  return expression.length <= 100 ? expression : `${storableText(expression.slice(0, 99))}…`;
}

/** Sets a field as data, also one with the name `__proto__`. */
export function setField(row: Record<string, unknown>, name: string, value: unknown): void {
  if (name === "__proto__") {
    const isData = { enumerable: true, configurable: true, writable: true };
    Object.defineProperty(row, name, { value, ...isData });
  } else row[name] = value;
}

/** Returns a row's own field; null when it has none. */
export function fieldOf(row: Row, name: string): Row[string] {
  return Object.hasOwn(row, name) ? (row[name] ?? null) : null;
}

export function parseRow(text: string): Row {
  return JSON.parse(text) as Row;
}
