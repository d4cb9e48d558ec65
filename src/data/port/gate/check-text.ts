import type { FunctionCatalog } from "../../../lib/sql-gate/postgres/function-catalog.ts";
import {
  NotParsed,
  parsePostgres,
  TooDeep,
} from "../../../lib/sql-gate/postgres/parse-postgres.ts";
import { Refused } from "../../../lib/sql-gate/verdict.ts";
import { checkPortStatement } from "./check-statement.ts";
import { normalizeTokens, UNREADABLE_TEXT } from "./normalize-text.ts";
import { PORT_POLICY, portCatalog } from "./port-policy.ts";
import { OperatorRun, type SqlToken, scanText } from "./scan-text.ts";
import type { CheckText, GateOptions, GateVerdict, PortRefusal } from "./statement-gate.ts";
import { VerdictCache } from "./verdict-cache.ts";

/**
 * Words, constants and marks of a text. All clients of the process wait while one text is checked, of this many about
 * 0.1 s. What people and tools write in 100 KiB has about as many.
 */
const MAX_TOKENS = 30_000;

/** Returns a gate that remembers its verdicts, because tools ask the same of the catalogs again and again. */
export function createTextCheck(): CheckText {
  const cache = new VerdictCache();
  return async (sql, catalog, options = {}) => {
    const known = cache.get(sql, catalog, options);
    if (known !== undefined) return known;
    const verdict = await checkText(sql, catalog, options);
    cache.add(sql, catalog, options, verdict);
    return verdict;
  };
}

async function checkText(
  sql: string,
  catalog: FunctionCatalog,
  options: GateOptions,
): Promise<GateVerdict> {
  const unreadable = refuseUnreadable(sql);
  if (unreadable !== undefined) return { refusal: unreadable, normalized: UNREADABLE_TEXT };
  const tokens = readTokens(sql);
  if (!Array.isArray(tokens)) return { refusal: tooLong(tokens), normalized: UNREADABLE_TEXT };
  try {
    const statements = await parsePostgres(sql);
    const normalized = normalizeTokens(tokens);
    try {
      if (options.isOneQuery === true) refuseOtherThanOne(statements.length);
      const allowed = portCatalog(catalog);
      const relations = new Set<string>();
      const kinds = statements.map((one) => checkPortStatement(one, allowed, options, relations));
      return { statements: kinds, normalized, relations: [...relations] };
    } catch (thrown) {
      return { refusal: toRefusal(thrown), normalized };
    }
  } catch (thrown) {
    return { refusal: toRefusal(thrown), normalized: UNREADABLE_TEXT };
  }
}

/** Returns what is too much where there is too much. */
function readTokens(sql: string): SqlToken[] | string {
  const tokens: SqlToken[] = [];
  try {
    for (const token of scanText(sql)) {
      if (tokens.push(token) > MAX_TOKENS)
        return `more than ${MAX_TOKENS} words, constants and marks`;
    }
  } catch (thrown) {
    if (thrown instanceof OperatorRun) return "hundreds of operators after one another";
    throw thrown;
  }
  return tokens;
}

function refuseUnreadable(sql: string): PortRefusal | undefined {
  const bytes = Buffer.byteLength(sql);
  if (bytes > PORT_POLICY.maxBytes) {
    return tooLong(`${bytes} bytes, more than the ${PORT_POLICY.maxBytes} allowed`);
  }
  if (!/\0|\p{Surrogate}/u.test(sql)) return undefined;
  return {
    code: "22021",
    message: "The text has a character that no text may have (NUL or half a surrogate pair).",
    hint: "Remove it.",
  };
}

function tooLong(amount: string): PortRefusal {
  return {
    code: "54000",
    message: `The text has ${amount}.`,
    hint: "Shorten it: instead of a long list of values write a join, or = ANY ('{1,2}').",
  };
}

function refuseOtherThanOne(count: number): void {
  if (count === 1) return;
  throw new Refused(
    count === 0 ? "The text has no statement." : `The text has ${count} statements.`,
    "Send one SELECT.",
  );
}

function toRefusal(thrown: unknown): PortRefusal {
  if (!(thrown instanceof Refused)) throw thrown;
  const { message, hint } = thrown.refusal;
  if (thrown instanceof TooDeep) return { code: "54001", message, hint };
  if (!(thrown instanceof NotParsed)) return { code: "42501", message, hint };
  return {
    code: "42601",
    message: thrown.words,
    hint: "Statements are in PostgreSQL's dialect.",
    ...(thrown.position > 0 ? { position: thrown.position } : {}),
  };
}
