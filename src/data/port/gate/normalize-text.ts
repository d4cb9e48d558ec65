import type { SqlToken } from "./scan-text.ts";

/** Bytes of a text without its literals, in UTF-8. */
const NORMALIZED_MAX_BYTES = 8 * 1024;
const CUT = " ...";

/** Stands for a text of which nobody knows what its literals are. */
export const UNREADABLE_TEXT = "<unreadable>";

/**
 * Returns a text without its literals and comments: `?` for each constant, `...` for the rest of a list of them, and a
 * single `?` for what a SET sets. PostgreSQL's own `normalize` leaves literals in PREPARE, EXECUTE and comments.
 */
export function normalizeTokens(tokens: readonly SqlToken[]): string {
  const parts: string[] = [];
  let bytes = CUT.length;
  for (const statement of splitStatements(tokens)) {
    for (const part of withoutLiterals(statement)) {
      bytes += Buffer.byteLength(part);
      if (bytes > NORMALIZED_MAX_BYTES) return parts.join("") + CUT;
      parts.push(part);
    }
  }
  return parts.join("").trim();
}

function* splitStatements(tokens: readonly SqlToken[]): Generator<readonly SqlToken[]> {
  let statement: SqlToken[] = [];
  for (const token of tokens) {
    statement.push(token);
    if (token.text !== ";") continue;
    yield statement;
    statement = [];
  }
  yield statement;
}

/** What a SET sets stands after these words, and may be written as a name. */
const BEFORE_VALUE = /^(=|to|zone|names|schema|role|authorization|option)$/i;

function withoutLiterals(statement: readonly SqlToken[]): readonly string[] {
  const isSet = /^set$/i.test(statement[0]?.text ?? "");
  const parts: string[] = [];
  for (const { kind, text, isSpaced } of statement) {
    const blank = isSpaced ? " " : "";
    if (kind === "literal") addLiteral(blank, parts);
    else parts.push(blank + text);
    if (!isSet || parts.length === 1 || !BEFORE_VALUE.test(text)) continue;
    parts.push(" ?");
    if (statement.at(-1)?.text === ";") parts.push(";");
    break;
  }
  return parts;
}

/** `1, 2, 3` becomes `?, ...`. */
function addLiteral(blank: string, parts: string[]): void {
  const before = parts.at(-1)?.trim() === "," ? parts.at(-2)?.trim() : undefined;
  if (before === "...") parts.pop();
  else parts.push(blank + (before === "?" ? "..." : "?"));
}
