import { isNotNull, sql } from "drizzle-orm";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { type StoreSettings, withStore } from "../stages/usage/stored-usage.ts";

/**
 * Lets the leases of all jobs run out, as time would do after a kill: they go by the database's clock, which nobody can
 * set. For a database whose servers have ended, but for those that hold no lease of what is asked about.
 */
export async function expireLeases(settings: StoreSettings): Promise<void> {
  await withStore(settings, async ({ db }) => {
    await db
      .update(outboxEvents)
      .set({ leaseUntil: sql`now() - interval '1 second'` })
      .where(isNotNull(outboxEvents.leaseUntil));
  });
}
