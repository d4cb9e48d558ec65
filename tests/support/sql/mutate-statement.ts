import type { createRandom } from "../faults/random.ts";

const BLANKS = [" ", "  ", "\n", "\t", "\r\n", "/**/", " /* a; b */ ", " -- c\n", " -- ' \n "];
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\$[\s\S]*?\$\$|--[^\n]*|\/\*[\s\S]*?\*\//y;
const CALLED = /([A-Za-z_\u{80}-\u{fffff}][A-Za-z0-9_\u{80}-\u{fffff}]*)(?=\()/uy;
const WORD = /[A-Za-z_\u{80}-\u{fffff}][A-Za-z0-9_\u{80}-\u{fffff}]*/uy;

export interface Mutation {
  /** Other notations of the name of a function, besides its case. */
  readonly names: readonly ((name: string, pick: Pick) => string)[];
}

type Pick = <Value>(values: readonly Value[]) => Value;

/** Names of functions as PostgreSQL can write them. */
export const POSTGRES_NAMES: Mutation["names"] = [
  (name) => `"${name.toLowerCase()}"`,
  (name, pick) =>
    `U&"${[...name.toLowerCase()].map((letter) => pick([letter, escaped(letter)])).join("")}"`,
];
export const MYSQL_NAMES: Mutation["names"] = [(name) => `\`${name}\``];
export const SQLITE_NAMES: Mutation["names"] = [
  (name) => `\`${name}\``,
  (name) => `"${name}"`,
  (name) => `[${name}]`,
];

/** Returns a statement with the same meaning in another form: case, white space, comments and quotes. */
export function mutateStatement(
  sql: string,
  random: ReturnType<typeof createRandom>,
  names: Mutation["names"],
): string {
  const pick: Pick = (values) => values[Math.floor(random() * values.length)] as never;
  const parts: string[] = [];
  for (let at = 0; at < sql.length; ) {
    const quoted = matchAt(QUOTED, sql, at);
    const called = matchAt(CALLED, sql, at);
    const word = matchAt(WORD, sql, at);
    const part = quoted ?? called ?? word ?? sql[at] ?? "";
    at += part.length;
    if (quoted !== undefined) parts.push(part);
    else if (called !== undefined && isQuotable(called, names) && random() < 0.4) {
      parts.push(pick(names)(part, pick));
    } else if (word !== undefined) parts.push(changedCase(part, random));
    else parts.push(part === " " ? pick(BLANKS) : part);
  }
  return parts.join("");
}

/** What stands before a parenthesis without being a function. */
const KEYWORDS = new Set(
  "in as any all from over by values filter group using explain exists coalesce array row rows columns nested path select cube rollup lateral xmltable json_table json_value json_object json_arrayagg xmlelement xmlattributes cast and or on not sets limit when then union float8 canary merge into table returns f something system_rows xmlparse grouping greatest p int varchar numeric x if t replace insert analyze timing".split(
    " ",
  ),
);

function isQuotable(called: string, names: Mutation["names"]): boolean {
  return names.length > 0 && !KEYWORDS.has(called.toLowerCase());
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function changedCase(word: string, random: () => number): string {
  return [...word]
    .map((letter) => (random() < 0.5 ? letter.toUpperCase() : letter.toLowerCase()))
    .join("");
}

function escaped(letter: string): string {
  return `\\${(letter.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}
