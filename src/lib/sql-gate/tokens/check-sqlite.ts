import { Refused, refuseUnreadableText, toVerdict, type Verdict } from "../verdict.ts";
import type { TokenPolicy } from "./check-mysql.ts";
import {
  firstWords,
  isMark,
  onlyStatement,
  refuseFunction,
  refuseOtherCount,
  refuseWords,
} from "./token-rules.ts";
import { type Token, tokenize } from "./tokenize.ts";

const READING: ReadonlySet<string> = new Set(["select", "with", "values"]);

const REFUSED_WORDS: ReadonlySet<string> = new Set([
  "into",
  "insert",
  "update",
  "delete",
  "replace",
  "attach",
  "detach",
  "pragma",
  "vacuum",
  "exec",
  "execute",
]);
const CALLABLE: ReadonlySet<string> = new Set(["replace"]);

/** Functions that load code, touch files, or run SQL that is given as a text. */
const REFUSED_FUNCTION =
  /^(load_extension|readfile|writefile|edit|eval|fts3_tokenizer|sha3_query|sha1_query|sqlar_\w+|zipfile_\w+|carray|define|undefine)$/;

/** Tables that are functions. SQLite takes a name in quotes of any kind, also without parentheses after it. */
const REFUSED_TABLE = /^(pragma_\w+|sqlite_dbpage|fsdir|zipfile|bytecode|tables_used)$/;

/**
 * Decides whether a text may run on SQLite: one statement that reads, told by its tokens. The file must be opened
 * read-only as well.
 */
export function checkSqlite(sql: string, { maxBytes, parameters = 0 }: TokenPolicy): Verdict {
  return toVerdict(() => {
    refuseUnreadableText(sql, maxBytes);
    const takesParameters = parameters > 0;
    const tokens = onlyStatement(tokenize(sql, "sqlite", { takesParameters }));
    refuseOtherCount(tokens, parameters);
    const words = firstWords(tokens, 4);
    const [first = ""] = words;
    const isPlan = first === "explain";
    if (!READING.has(isPlan ? explained(words) : first)) {
      throw new Refused(
        `A statement that begins with ${first === "" ? "this" : first.toUpperCase()} is refused: only reading statements may run.`,
        "Begin with SELECT, WITH, VALUES or EXPLAIN QUERY PLAN. For the tables read sqlite_master.",
      );
    }
    refuseWords(tokens, REFUSED_WORDS, CALLABLE);
    for (const [index, token] of tokens.entries()) checkToken(token, tokens[index + 1]);
    return isPlan ? "explain" : "select";
  });
}

/** The word after `EXPLAIN` or `EXPLAIN QUERY PLAN`. */
function explained([, second = "", , fourth = ""]: readonly string[]): string {
  return second === "query" ? fourth : second;
}

function checkToken({ kind, text }: Token, next: Token | undefined): void {
  if (kind === "mark" || kind === "number") return;
  if (isMark(next, "(") && REFUSED_FUNCTION.test(text)) refuseFunction(text);
  if (REFUSED_TABLE.test(text)) refuseFunction(text);
}
