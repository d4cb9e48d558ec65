import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";

/** Timeout of a statement, and the longest that a full disk or a slow reader may delay the next one. */
const STATEMENT_TIMEOUT_MS = 600_000;

/** Makes this transaction write texts in the one form that every server reads, whatever the server's configuration. */
export async function writeStandardTexts(transaction: Db): Promise<void> {
  const limit = String(STATEMENT_TIMEOUT_MS);
  await transaction.execute(sql`
    select set_config('statement_timeout', ${limit}, true),
      set_config('idle_in_transaction_session_timeout', ${limit}, true),
      set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO, YMD', true),
      set_config('intervalstyle', 'postgres', true), set_config('extra_float_digits', '1', true),
      set_config('bytea_output', 'hex', true)`);
}
