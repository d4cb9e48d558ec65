import { Refused, refuseSeveral } from "../verdict.ts";
import type { Token } from "./tokenize.ts";

/** Returns the tokens without the `;` at their end. Throws for a text with none or several statements. */
export function onlyStatement(tokens: readonly Token[]): readonly Token[] {
  const isEnd = ({ kind, text }: Token) => kind === "mark" && text === ";";
  const last = tokens.findLastIndex((token) => !isEnd(token));
  if (last < 0) throw new Refused("The statement is empty.", "Write one SELECT.");
  const statement = tokens.slice(0, last + 1);
  const inner = statement.filter(isEnd).length;
  if (inner > 0) refuseSeveral(inner + 1);
  return statement;
}

/** The words at the beginning, after opening parentheses. */
export function firstWords(tokens: readonly Token[], count: number): readonly string[] {
  const start = tokens.findIndex(({ text, kind }) => kind !== "mark" || text !== "(");
  return tokens.slice(start, start + count).map(({ kind, text }) => (kind === "word" ? text : ""));
}

export function isMark(token: Token | undefined, text: string): boolean {
  return token?.kind === "mark" && token.text === text;
}

/** Refuses keywords wherever they stand as bare words. `callable` are functions too, and refused unless called. */
export function refuseWords(
  tokens: readonly Token[],
  refused: ReadonlySet<string>,
  callable: ReadonlySet<string>,
): void {
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== "word" || !refused.has(text)) continue;
    if (callable.has(text) && isMark(tokens[index + 1], "(")) continue;
    throw new Refused(
      `The word ${text.toUpperCase()} is refused: only reading statements may run.`,
      "Write one SELECT. Where the word is a column's name, put it in quotes.",
    );
  }
}

/** Refuses words that follow one another. */
export function refuseSequence(tokens: readonly Token[], sequence: readonly string[]): void {
  const found = tokens.some((_, index) =>
    sequence.every((word, offset) => {
      const token = tokens[index + offset];
      return token?.kind === "word" && token.text === word;
    }),
  );
  if (found) {
    throw new Refused(`${sequence.join(" ").toUpperCase()} is refused.`, "Leave it out.");
  }
}

export function refuseFunction(name: string): never {
  throw new Refused(
    `The function ${name} is refused: it does more than read, or it waits.`,
    "Use functions that compute a value from their arguments.",
  );
}

/** Refuses a statement whose placeholders are not as many as its parameters. */
export function refuseOtherCount(tokens: readonly Token[], parameters: number): void {
  const placeholders = tokens.filter((token) => isMark(token, "?")).length;
  if (placeholders === parameters) return;
  throw new Refused(
    `The statement has ${placeholders} placeholders and ${parameters} parameters.`,
    "Write one ? for each parameter, in their order.",
  );
}
