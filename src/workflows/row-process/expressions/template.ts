import type { JsonValue } from "../../../lib/json/json.ts";
import { ProgramFailure } from "../row-work.ts";
import { compileExpression, type Expression, type Names } from "./expression.ts";

/** Returns the text of a template for these names. Throws a `RowFault` when one of its expressions fails. */
export type TextTemplate = (names: Names) => string;

const QUOTES = ['"""', "'''", '"', "'"] as const;

/**
 * Compiles a text with `{{ expression }}` in it. What is missing or null becomes empty, lists and objects become JSON.
 * Throws a `ProgramFailure` with the code `invalid_expression`.
 */
export function compileText(text: string): TextTemplate {
  const pieces: (string | Expression)[] = [];
  let at = 0;
  for (let open = text.indexOf("{{"); open >= 0; open = text.indexOf("{{", at)) {
    pieces.push(text.slice(at, open));
    const end = endOfExpression(text, open + 2);
    const expression = text.slice(open + 2, end).trim();
    if (expression === "") throw invalid("The text has '{{ }}' without an expression in it.");
    pieces.push(compileExpression(expression));
    at = end + 2;
  }
  pieces.push(text.slice(at));
  return (names) =>
    pieces.map((piece) => (typeof piece === "string" ? piece : rendered(piece(names)))).join("");
}

function rendered(value: JsonValue): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Braces inside texts, and those of objects, do not end an expression. */
function endOfExpression(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const quote = QUOTES.find((mark) => text.startsWith(mark, at));
    if (quote !== undefined) {
      at = endOfQuoted(text, at, quote);
      continue;
    }
    const character = text[at];
    if (character === "{") depth += 1;
    if (character === "}") {
      if (depth === 0 && text[at + 1] === "}") return at;
      depth -= 1;
    }
    at += 1;
  }
  throw invalid("The text has a '{{' that is not closed. Close it with '}}'.");
}

/** In a raw text a backslash keeps the quote from ending it, too. */
function endOfQuoted(text: string, start: number, quote: string): number {
  for (let at = start + quote.length; at < text.length; at += 1) {
    if (text.startsWith(quote, at)) return at + quote.length;
    if (text[at] === "\\") at += 1;
  }
  throw invalid("An expression in '{{ }}' has a text that is not closed.");
}

function invalid(message: string): ProgramFailure {
  return new ProgramFailure("invalid_expression", message);
}
