import { Refused } from "../verdict.ts";
import { foldName } from "./fold-name.ts";

/** `mysql` is MariaDB, too. */
export type Dialect = "mysql" | "sqlite";

/**
 * A piece of a statement. `word` is a bare name or keyword. `name` is one in backticks or brackets, `double` a text in
 * double quotes, which is a name or a string by the server's settings, `string` one in single quotes. Their text is
 * what stands inside, folded for comparison.
 */
export interface Token {
  readonly kind: "word" | "name" | "double" | "string" | "number" | "mark";
  readonly text: string;
  /** Where it begins in the statement. */
  readonly at: number;
}

export interface TokenizeOptions {
  /** Whether `?` may stand for a value. */
  readonly takesParameters?: boolean;
}

const MAX_DEPTH = 200;

const WORD = /[A-Za-z_\u{80}-\u{10ffff}][A-Za-z0-9_$\u{80}-\u{10ffff}]*/uy;
const NUMBER = /0[xX][0-9a-fA-F]+|0b[01]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const WORD_CHARACTER = /[A-Za-z0-9_$\u{80}-\u{10ffff}]/u;
const MARKS: Readonly<Record<Dialect, string>> = {
  mysql: "+-*/%=<>!~^&|(),.;@",
  sqlite: "+-*/%=<>!~&|(),.;",
};

/**
 * Splits a statement into tokens, without comments. Throws `Refused` for whatever servers, their versions or their
 * settings (`NO_BACKSLASH_ESCAPES`, `ANSI_QUOTES`) could split in another way: strictness is what makes the result true.
 */
export function tokenize(
  sql: string,
  dialect: Dialect,
  { takesParameters = false }: TokenizeOptions = {},
): readonly Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  let at = 0;
  while (at < sql.length) {
    const end = skipBlank(sql, at, dialect);
    if (end > at) {
      at = end;
      continue;
    }
    const isPlaceholder = takesParameters && sql[at] === "?";
    const { token, end: next } = isPlaceholder
      ? { token: { kind: "mark", text: "?" } as const, end: at + 1 }
      : readToken(sql, at, dialect);
    if (token.text === "(" && token.kind === "mark") depth += 1;
    if (token.text === ")" && token.kind === "mark") depth -= 1;
    if (depth > MAX_DEPTH) {
      throw new Refused("The statement is nested too deeply.", "Use fewer levels of parentheses.");
    }
    tokens.push({ ...token, at });
    at = next;
  }
  return tokens;
}

/** Returns where the white space or the comment at `at` ends; `at` itself where there is none. */
function skipBlank(sql: string, at: number, dialect: Dialect): number {
  const character = sql[at] ?? "";
  if (" \t\n\r".includes(character)) return at + 1;
  if (sql.startsWith("--", at)) {
    if (dialect === "mysql" && !/^--(?:[ \t\r\n]|$)/.test(sql.slice(at, at + 3))) {
      throw new Refused(
        "Two minus signs without a space after them are refused: they begin a comment or they do not.",
        "Write '- -' for two minus signs, or '-- ' for a comment.",
      );
    }
    return lineEnd(sql, at);
  }
  if (character === "#" && dialect === "mysql") return lineEnd(sql, at);
  return sql.startsWith("/*", at) ? commentEnd(sql, at) : at;
}

function lineEnd(sql: string, at: number): number {
  const end = sql.indexOf("\n", at);
  return end < 0 ? sql.length : end + 1;
}

/** `/*!` and `/*M!` are code for MySQL and MariaDB, `/*+` gives orders to the server. */
function commentEnd(sql: string, at: number): number {
  const end = sql.indexOf("*/", at + 2);
  const content = sql.slice(at + 2, end < 0 ? undefined : end);
  if (end < 0 || /^[mM]?!|^\+|\/\*/.test(content)) {
    throw new Refused(
      "A comment of this form is refused: it has no end, is nested, or is code (/*!, /*M!, /*+).",
      "Leave the comment out.",
    );
  }
  return end + 2;
}

interface Read {
  readonly token: Omit<Token, "at">;
  readonly end: number;
}

function readToken(sql: string, at: number, dialect: Dialect): Read {
  const character = sql[at] ?? "";
  if (character === "'") return readQuoted(sql, at, "string", dialect);
  if (character === '"') return readQuoted(sql, at, "double", dialect);
  if (character === "`" || (character === "[" && dialect === "sqlite")) {
    return readQuoted(sql, at, "name", dialect);
  }
  const number = match(NUMBER, sql, at);
  if (number !== undefined) return readNumber(sql, at, number);
  const word = match(WORD, sql, at);
  if (word !== undefined) return readWord(word, at);
  if (MARKS[dialect].includes(character)) {
    return { token: { kind: "mark", text: character }, end: at + 1 };
  }
  throw new Refused(
    `The character ${describeCharacter(sql, at)} is refused outside of quotes.`,
    "Use plain spaces, and write values themselves instead of placeholders and variables.",
  );
}

/** A quote is doubled to stand in its own text. */
function readQuoted(sql: string, at: number, kind: Token["kind"], dialect: Dialect): Read {
  const quote = sql[at] === "[" ? "]" : (sql[at] ?? "");
  let end = at + 1;
  for (;;) {
    end = sql.indexOf(quote, end);
    if (end < 0) throw new Refused("A quotation has no end.", `Close it with ${quote}.`);
    if (dialect === "mysql" && quote !== "`") refuseEscapedQuote(sql, at, end);
    if (quote === "]" || sql[end + 1] !== quote) break;
    end += 2;
  }
  const content = sql.slice(at + 1, end).replaceAll(quote + quote, quote);
  return { token: { kind, text: foldName(content) }, end: end + 1 };
}

/** By the server's settings a backslash escapes the quote after it, or is a backslash. */
function refuseEscapedQuote(sql: string, start: number, quoteAt: number): void {
  let backslashes = 0;
  while (quoteAt - backslashes - 1 > start && sql[quoteAt - backslashes - 1] === "\\") {
    backslashes += 1;
  }
  if (backslashes % 2 === 0) return;
  throw new Refused(
    "A backslash before a quote is refused: by the server's settings the text ends there or it does not.",
    "Double the quote instead: 'it''s'.",
  );
}

/** `1union` is a number and a word for one server, and a name for another. */
function readNumber(sql: string, at: number, text: string): Read {
  const end = at + text.length;
  if (WORD_CHARACTER.test(sql.slice(end, end + 2)[0] ?? "")) {
    throw new Refused(
      `The number ${text} is refused, because letters follow it.`,
      "Put a space after the number, or quote a name that begins with a digit.",
    );
  }
  return { token: { kind: "number", text }, end };
}

const ODD = /[\p{White_Space}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

function readWord(word: string, at: number): Read {
  if (ODD.test(word)) {
    throw new Refused(
      "An invisible character or an unusual space is refused outside of quotes.",
      "Use plain spaces, tabs and line ends.",
    );
  }
  return { token: { kind: "word", text: foldName(word) }, end: at + word.length };
}

function match(pattern: RegExp, sql: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(sql)?.[0];
}

function describeCharacter(sql: string, at: number): string {
  const code = sql.codePointAt(at) ?? 0;
  return code > 0x20 && code < 0x7f
    ? String.fromCodePoint(code)
    : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
