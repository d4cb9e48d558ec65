import type { ServerError } from "../protocol/backend-messages.ts";

/** One statement of a text. */
export interface TextPart {
  readonly sql: string;
  /** Characters of the text before it. */
  readonly at: number;
}

const SEPARATOR = /;\s*\S/;
const IS_UTF8 = /^(utf-?8|unicode)$/i;

interface Named {
  readonly name?: string;
}

/** A statement as the parser gives it, as far as the copy needs it. */
interface Parsed {
  readonly stmt?: {
    readonly VariableSetStmt?: SetStatement;
    readonly ExecuteStmt?: Named;
    readonly ExplainStmt?: { readonly query?: { readonly ExecuteStmt?: Named } };
    readonly PrepareStmt?: Named;
    readonly DeallocateStmt?: Named;
    readonly TransactionStmt?: unknown;
  };
  readonly stmt_location?: number;
  readonly stmt_len?: number;
}

interface SetStatement {
  readonly kind?: string;
  readonly name?: string;
  readonly args?: readonly { readonly A_Const?: { readonly sval?: { readonly sval?: string } } }[];
}

/** The parser failed on a text that the gate has parsed: it must not run, because nobody knows what is in it. */
export class UnreadText extends Error {
  override readonly name = "UnreadText";
  readonly refusal: ServerError = {
    ...{ severity: "ERROR", code: "42601" },
    message: "The statement could not be read, so it did not run.",
    hint: "Send it again; if that fails too, write it in another way.",
  };
}

/**
 * The database's own parser, loaded once a text needs it. The gate has parsed each text before. Rejects with an
 * UnreadText.
 */
export async function parseText(sql: string): Promise<readonly Parsed[]> {
  const { parse } = await import("libpg-query");
  try {
    const { stmts = [] } = (await parse(sql)) as unknown as { stmts?: Parsed[] };
    return stmts;
  } catch (cause) {
    throw new UnreadText("The parser failed on a statement.", { cause });
  }
}

/** Splits a text into its statements. */
export async function splitQuery(sql: string): Promise<readonly TextPart[]> {
  const whole = [{ sql, at: 0 }];
  if (!SEPARATOR.test(sql)) return whole;
  const parsed = await parseText(sql);
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

/** Why a statement cannot run on the copy: the database there speaks UTF-8 alone. */
export async function refuseOnCopy(sql: string): Promise<ServerError | undefined> {
  const mayEncode = /client_encoding|\bnames\b/i.test(sql) && /\bset\b/i.test(sql);
  const mayEscape = /\\|u&/i.test(sql) && /\bset\b/i.test(sql);
  if (!mayEncode && !mayEscape) return undefined;
  for (const { stmt = {} } of await parseText(sql)) {
    const { VariableSetStmt: set } = stmt;
    if (set !== undefined && setsEncoding(set)) {
      return notHere(
        "The embedded database sends UTF8 only.",
        "Let the client use the encoding UTF8.",
      );
    }
  }
  return undefined;
}

/**
 * Returns the statement as the copy may run it: its session is the superuser's, so it must not be taken back to its own
 * role (SET SESSION AUTHORIZATION DEFAULT). For a client nothing would change by that.
 */
export async function adaptToCopy(sql: string): Promise<string> {
  if (!/\bset\b|\breset\b/i.test(sql) || !/authorization|\\|u&/i.test(sql)) return sql;
  const [parsed] = await parseText(sql);
  const set = parsed?.stmt?.VariableSetStmt;
  if (set?.name !== "session_authorization") return sql;
  return set.kind === "VAR_RESET" ? "reset data.nothing" : "set data.nothing = ''";
}

function setsEncoding({ name, args }: SetStatement): boolean {
  if (name?.toLowerCase() !== "client_encoding" || args === undefined) return false;
  return !isUtf8(args[0]?.A_Const?.sval?.sval ?? "");
}

export const isUtf8 = (encoding: string): boolean => IS_UTF8.test(encoding.replace(/^'|'$/g, ""));

function notHere(message: string, hint: string): ServerError {
  return { severity: "ERROR", code: "0A000", message, hint };
}
