/** A token of a text: `literal` is a constant, `name` a word or a quoted name, `mark` anything else. */
export interface SqlToken {
  readonly kind: "literal" | "name" | "mark";
  readonly text: string;
  /** Whether a blank or a comment is before it. */
  readonly isSpaced: boolean;
}

const BLANK = "[ \\t\\n\\r\\f\\v]";
/** Between the parts of one constant on several lines. */
const LINES = `[ \\t\\f\\v]*(?:--[^\\n\\r]*)?[\\n\\r](?:${BLANK}|--[^\\n\\r]*[\\n\\r])*`;
const PLAIN = "[^']*(?:''[^']*)*";
const ESCAPED = "[^'\\\\]*(?:(?:''|\\\\[\\s\\S])[^'\\\\]*)*";
/** A constant without an end takes the rest of the text. */
const quoted = (inner: string) => `'${inner}(?:'${LINES}'${inner})*(?:'|$)`;
const LETTER = "a-z_\\u0080-\\uffff";
const TOKEN = new RegExp(
  [
    `(?<blank>(?:${BLANK}|--[^\\n\\r]*)+)`,
    `(?<literal>e${quoted(ESCAPED)}|(?:[bnx]|u&)?${quoted(PLAIN)}|\\.?\\d[\\w.]*(?:(?<=e)[+-]\\d+)?)`,
    `(?<name>(?:u&)?"[^"]*(?:""[^"]*)*(?:"|$)|[${LETTER}][${LETTER}0-9$]*)`,
    `(?<mark>\\$\\d+|::|:=|=>|[<>!]=|<>|\\|\\||[\\s\\S])`,
  ].join("|"),
  "iy",
);
const DOLLAR = new RegExp(`\\$(?:[${LETTER}][${LETTER}0-9]*)?\\$`, "iy");

const RUN_MAX = 256;
const OPERATORS = "~!@#^&|`?+\\-*/%<>=";
const NESTED_RUN = new RegExp(`(?!^)/\\*[${OPERATORS}]{${RUN_MAX}}`);
const OPERATOR = new RegExp(`^[${OPERATORS}]+$`);

/**
 * Yields the tokens of a text as PostgreSQL splits it with `standard_conforming_strings` on, without comments. It is
 * linear in the length of the text, also where PostgreSQL could not parse it. Throws `OperatorRun`.
 */
export function* scanText(sql: string): Generator<SqlToken> {
  let isSpaced = false;
  let run = 0;
  for (let at = 0; at < sql.length; ) {
    const { kind, text } = readPart(sql, at);
    at += text.length;
    run = kind === "mark" && OPERATOR.test(text) ? run + 1 : 0;
    if (run > RUN_MAX || (kind === "blank" && NESTED_RUN.test(text))) throw new OperatorRun();
    if (kind !== "blank") yield { kind, text, isSpaced };
    isSpaced = kind === "blank";
  }
}

/**
 * Operators, or beginnings of comments, follow each other by the hundreds. PostgreSQL's own lexer takes time by the
 * square of their number: 20 s for 128 KiB.
 */
export class OperatorRun extends Error {}

function readPart(sql: string, at: number): { kind: SqlToken["kind"] | "blank"; text: string } {
  if (sql.startsWith("/*", at)) {
    return { kind: "blank", text: sql.slice(at, at + commentLength(sql, at)) };
  }
  const dollar = sql[at] === "$" ? dollarText(sql, at) : undefined;
  if (dollar !== undefined) return { kind: "literal", text: dollar };
  TOKEN.lastIndex = at;
  const { blank, literal, name, mark = "" } = TOKEN.exec(sql)?.groups ?? {};
  if (blank !== undefined) return { kind: "blank", text: blank };
  if (literal !== undefined) return { kind: "literal", text: literal };
  return name === undefined ? { kind: "mark", text: mark } : { kind: "name", text: name };
}

function dollarText(sql: string, at: number): string | undefined {
  DOLLAR.lastIndex = at;
  const tag = DOLLAR.exec(sql)?.[0];
  if (tag === undefined) return undefined;
  const end = sql.indexOf(tag, at + tag.length);
  return end < 0 ? sql.slice(at) : sql.slice(at, end + tag.length);
}

/** Comments nest. One without an end takes the rest of the text. */
function commentLength(sql: string, start: number): number {
  const border = /\/\*|\*\//g;
  border.lastIndex = start;
  let depth = 0;
  for (let found = border.exec(sql); found !== null; found = border.exec(sql)) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return border.lastIndex - start;
  }
  return sql.length - start;
}
