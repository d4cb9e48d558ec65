import { quoteName } from "../../copy/quote-sql.ts";
import { parse, sync } from "../protocol/frontend-messages.ts";
import { errorOf, hasError } from "./answers.ts";
import type { Runner } from "./runner.ts";
import { parseText } from "./split-query.ts";

const NAMES_TEXT = /\b(deallocate|execute|prepare|pg_prepared_statements?)\b/i;
const LISTS_TEXT = /\bpg_prepared_statements?\b/i;
/** No client uses it: what a DEALLOCATE removes in place of a statement that the database has forgotten. */
const STAND_IN = "\u0001forgotten";

/** What a text says about prepared statements. */
interface Names {
  /** Those that it runs, or prepares anew. */
  readonly used: readonly string[];
  /** The one that it removes. */
  readonly removed: string | undefined;
  /** It reads the list of all. */
  readonly isList: boolean;
}

/** A text whose prepared statements the database knows again. */
export interface ReadyText {
  readonly sql: string;
  /** The database has accepted the text. */
  readonly taken: () => void;
}

const asIs = (sql: string): ReadyText => ({ sql, taken: () => undefined });

/**
 * Makes the database know these statements, which it may have forgotten since the session's last turn. False after an
 * error: a table of a statement may be gone since, or the transaction has failed before.
 */
export async function recall(runner: Runner, names: readonly string[]): Promise<boolean> {
  for (const name of names) {
    const known = runner.memory.lost(name);
    if (known === undefined) continue;
    const error = errorOf(await runner.execute(known));
    if (error !== undefined) {
      await runner.emit(error);
      return false;
    }
    runner.memory.recalled(name);
  }
  return true;
}

/** The same for the statements that a text names. Undefined after an error. */
export async function recallFor(runner: Runner, sql: string): Promise<ReadyText | undefined> {
  if (!NAMES_TEXT.test(sql)) return asIs(sql);
  const { used, removed, isList } = await namesOf(sql);
  if (removed !== undefined && runner.memory.lost(removed) !== undefined) {
    return removeLost(runner, removed);
  }
  const isReady = isList ? await recallAll(runner) : await recall(runner, used);
  return isReady ? asIs(sql) : undefined;
}

/** What is removed need not be valid any more, so another statement is removed in its place. */
async function removeLost(runner: Runner, name: string): Promise<ReadyText | undefined> {
  const error = errorOf(await runner.execute(parse(STAND_IN, "select")));
  if (error === undefined) {
    return { sql: `deallocate ${quoteName(STAND_IN)}`, taken: () => runner.memory.forget(name) };
  }
  await runner.emit(error);
  return undefined;
}

/** For a list of all: those that cannot be recalled are not in it, where leaving them out ends nothing of the client. */
async function recallAll(runner: Runner): Promise<boolean> {
  const { memory, isIdle } = runner;
  if (!isIdle) return recall(runner, memory.lostNames());
  for (const name of memory.lostNames()) {
    const known = memory.lost(name);
    if (known === undefined) continue;
    if (hasError(await runner.execute(known))) await runner.execute(sync());
    else memory.recalled(name);
  }
  return true;
}

async function namesOf(sql: string): Promise<Names> {
  const [parsed] = await parseText(sql);
  const { ExecuteStmt, ExplainStmt, PrepareStmt, DeallocateStmt, TransactionStmt } =
    parsed?.stmt ?? {};
  const used = [ExecuteStmt, ExplainStmt?.query?.ExecuteStmt, PrepareStmt];
  return {
    used: used.flatMap((statement) => statement?.name ?? []),
    removed: DeallocateStmt?.name,
    isList: LISTS_TEXT.test(sql) && TransactionStmt === undefined,
  };
}
