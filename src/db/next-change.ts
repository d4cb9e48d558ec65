import { eq, sql } from "drizzle-orm";
import type { Db } from "./context.ts";
import { changeCounters } from "./tables/change-counters.ts";

/** The kinds of data that replicas cache and poll for changes. */
export type ChangeCounter =
  | "api_keys"
  | "assistants"
  | "bi_keys"
  | "connections"
  | "license"
  | "mcp_servers"
  | "service_tokens"
  | "workflows";

/**
 * Returns the number to stamp changed rows with, in the same transaction. Other changes of that kind wait until it
 * ends.
 */
export async function nextChange(transaction: Db, name: ChangeCounter): Promise<number> {
  const [row] = await transaction
    .insert(changeCounters)
    .values({ name, seq: 1 })
    .onConflictDoUpdate({
      target: changeCounters.name,
      set: { seq: sql`${changeCounters.seq} + 1` },
    })
    .returning({ seq: changeCounters.seq });
  if (row === undefined) throw new Error(`the change counter ${name} gave no number`);
  return row.seq;
}

/** Returns the number of the last committed change; 0 when there was none. */
export async function readChange(db: Db, name: ChangeCounter): Promise<number> {
  const [counter] = await db
    .select({ seq: changeCounters.seq })
    .from(changeCounters)
    .where(eq(changeCounters.name, name));
  return counter?.seq ?? 0;
}
