import { bigint, pgTable, text } from "drizzle-orm/pg-core";

/**
 * One row for each kind of data that replicas cache. A change raises the counter in its own transaction and stamps its
 * rows with it. The row's lock makes the numbers follow commit order, which a sequence's numbers do not.
 */
export const changeCounters = pgTable("change_counters", {
  name: text("name").primaryKey(),
  seq: bigint("seq", { mode: "number" }).notNull(),
});
