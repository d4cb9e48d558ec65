import type { ServerError } from "../protocol/backend-messages.ts";

/** One statement of a text. */
export interface TextPart {
  readonly sql: string;
  /** Characters of the text before it. */
  readonly at: number;
}

const SEPARATOR = /;\s*\S/;
/** DECLARE … WITH HOLD. */
const HOLD_OPTION = 0x20;
const IS_UTF8 = /^(utf-?8|unicode)$/i;

interface Parsed {
  readonly stmt?: {
    readonly DeclareCursorStmt?: { readonly options?: number };
    readonly VariableSetStmt?: SetStatement;
  };
  readonly stmt_location?: number;
  readonly stmt_len?: number;
}

interface SetStatement {
  readonly name?: string;
  readonly args?: readonly { readonly A_Const?: { readonly sval?: { readonly sval?: string } } }[];
}

/** The database's own parser, loaded once a text needs it. The gate has parsed each text before. */
async function parseText(sql: string): Promise<readonly Parsed[]> {
  const { parse } = await import("libpg-query");
  const { stmts = [] } = (await parse(sql)) as unknown as { stmts?: Parsed[] };
  return stmts;
}

/** Splits a text into its statements. One that the parser refuses is left whole, for the database to refuse. */
export async function splitQuery(sql: string): Promise<readonly TextPart[]> {
  const whole = [{ sql, at: 0 }];
  if (!SEPARATOR.test(sql)) return whole;
  const parsed = await parseText(sql).catch(() => []);
  if (parsed.length < 2) return whole;
  // The parser counts bytes of UTF-8.
  const bytes = Buffer.from(sql);
  let before = 0;
  let at = 0;
  return parsed.map(({ stmt_location: from = 0, stmt_len: length }) => {
    at += [...bytes.toString("utf8", before, from)].length;
    before = from;
    return {
      at,
      sql: bytes.toString("utf8", from, length === undefined ? undefined : from + length),
    };
  });
}

/**
 * Why a statement cannot run on the copy, which many clients share: a cursor cannot outlive its transaction, and the
 * database there speaks UTF-8 alone.
 */
export async function refuseOnCopy(sql: string): Promise<ServerError | undefined> {
  const mayHold = /\bdeclare\b/i.test(sql) && /\bhold\b/i.test(sql);
  const mayEncode = /client_encoding|\bnames\b/i.test(sql) && /\bset\b/i.test(sql);
  const mayEscape = /\\|u&/i.test(sql) && /\bset\b/i.test(sql);
  if (!mayHold && !mayEncode && !mayEscape) return undefined;
  for (const { stmt = {} } of await parseText(sql).catch(() => [])) {
    const { DeclareCursorStmt: cursor, VariableSetStmt: set } = stmt;
    if (cursor !== undefined && (Number(cursor.options) & HOLD_OPTION) !== 0) {
      return notHere(
        "Cursors WITH HOLD do not exist on the embedded database.",
        "Declare the cursor without HOLD inside a transaction.",
      );
    }
    if (set !== undefined && setsEncoding(set)) {
      return notHere(
        "The embedded database sends UTF8 only.",
        "Let the client use the encoding UTF8.",
      );
    }
  }
  return undefined;
}

function setsEncoding({ name, args }: SetStatement): boolean {
  if (name?.toLowerCase() !== "client_encoding" || args === undefined) return false;
  return !isUtf8(args[0]?.A_Const?.sval?.sval ?? "");
}

export const isUtf8 = (encoding: string): boolean => IS_UTF8.test(encoding.replace(/^'|'$/g, ""));

function notHere(message: string, hint: string): ServerError {
  return { severity: "ERROR", code: "0A000", message, hint };
}
