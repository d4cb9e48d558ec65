import { bigint, pgTable, text } from "drizzle-orm/pg-core";

/**
 * One row a kind of thing that replicas hold in memory. A change raises the counter in its own transaction
 * and stamps its rows with it; the row's lock makes the numbers come in commit order, which a sequence's do not.
 */
export const changeCounters = pgTable("change_counters", {
  name: text("name").primaryKey(),
  seq: bigint("seq", { mode: "number" }).notNull(),
});
