import type { ParseResult } from "@marcbachmann/cel-js";
import type { JsonValue } from "../../../lib/json/json.ts";
import type { Row } from "../../rows/row.ts";
import type { ExpressionScope } from "../row-process.ts";
import { noCondition, ProgramFailure, RowFault, shown } from "../row-work.ts";
import { createEnvironment, INT, MATCHES, TIME } from "./cel-environment.ts";
import { CelObject, fromCel } from "./cel-values.ts";
import { changeAccess, renameFunctions } from "./change-tree.ts";

const LENGTH_MAX = 20_000;

const environment = createEnvironment();

/** What an expression sees. `row` is exchanged for each row. */
export interface Names {
  row: CelObject;
  readonly trigger: CelObject;
  readonly run: CelObject;
}

/** Throws a `RowFault` when it fails for these names. */
export type Expression = (names: Names) => JsonValue;

export function namesOf({ trigger, run }: ExpressionScope, row: Row = {}): Names {
  return {
    row: new CelObject(row),
    trigger: new CelObject(trigger),
    run: new CelObject(run),
  };
}

/** Compiles an expression. Throws a `ProgramFailure` with the code `invalid_expression`. */
export function compileExpression(text: string): Expression {
  const parsed = parse(text);
  return (names) => {
    try {
      return fromCel(parsed(names as unknown as Record<string, unknown>));
    } catch (thrown) {
      throw faultOf(thrown, text);
    }
  };
}

/** An expression whose result must be true or false; null counts as false. */
export function compileCondition(text: string): (names: Names) => boolean {
  const expression = compileExpression(text);
  return (names) => {
    const value = expression(names);
    if (typeof value === "boolean") return value;
    if (value === null) return false;
    throw noCondition(text);
  };
}

function parse(text: string): ParseResult {
  if (text.length > LENGTH_MAX) throw invalid(`It has more than ${LENGTH_MAX} characters.`, text);
  try {
    const parsed = environment.parse(text);
    renameFunctions(parsed.ast);
    const checked = parsed.check();
    if (!checked.valid) throw checked.error;
    changeAccess(parsed.ast);
    return parsed;
  } catch (thrown) {
    throw invalid(summaryOf(thrown), text, thrown);
  }
}

function invalid(why: string, text: string, cause?: unknown): ProgramFailure {
  const message = `The expression '${shown(text)}' is wrong: ${why}`;
  return new ProgramFailure("invalid_expression", message, { cause });
}

function faultOf(thrown: unknown, text: string): unknown {
  if (thrown instanceof RowFault || thrown instanceof ProgramFailure) return thrown;
  if (thrown instanceof RangeError) {
    const why = "It called itself too deeply, or its result grew too large.";
    return new RowFault("expression_failed", `The expression '${shown(text)}' failed: ${why}`, {
      cause: thrown,
    });
  }
  const message = `The expression '${shown(text)}' failed: ${summaryOf(thrown)}${hintFor(thrown)}`;
  return new RowFault("expression_failed", message, { cause: thrown });
}

/** The library's messages show the source below their first sentence. */
function summaryOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const summary =
    "summary" in thrown && typeof thrown.summary === "string" ? thrown.summary : thrown.message;
  const [first = ""] = summary.split("\n");
  return first
    .replaceAll(MATCHES, "matches")
    .replaceAll(TIME, "timestamp")
    .replaceAll(INT, "int")
    .replaceAll(/dyn<(\w+)>/g, "$1");
}

function hintFor(thrown: unknown): string {
  if (!(thrown instanceof Error && /null/.test(thrown.message))) return "";
  return ". A field is missing or null: ask with `row.field != null && …` first.";
}
