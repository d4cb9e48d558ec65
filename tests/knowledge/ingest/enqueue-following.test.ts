import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Db, withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { enqueueFollowing } from "../../../src/knowledge/ingest/ingestion-jobs.ts";
import { openedKind, openTestDatabase } from "../../support/servers/databases/test-database.ts";

const WAIT = { timeout: 30_000, interval: 10 };
const NOW = Date.UTC(2027, 2, 1);

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

/** Two pairs of stores, each in ascending order, whose locks have opposite orders. */
async function oppositePairs() {
  const stores = await database.db.execute<{ id: string; bucket: number }>(sql`
    select id, hashtext('ingest_steps folder ' || id) & 1023 as bucket
    from (select 'vs_' || lpad(number::text, 6, '0') as id from generate_series(1, 10000) number) as made
    order by id`);
  const [low, ...others] = stores;
  const high = others.find(({ bucket }) => bucket > (low?.bucket ?? 0));
  const sameAs = (of: typeof low, after: string) =>
    stores.find(({ id, bucket }) => id > after && bucket === of?.bucket)?.id ?? "";
  const first = high?.id ?? "";
  const falling = [first, sameAs(low, first)];
  return { high: first, falling, rising: [low?.id ?? "", sameAs(high, low?.id ?? "")] };
}

const waiting = async () => {
  const [row] = await database.work.execute<{ count: number }>(
    sql`select count(*)::int as count from pg_locks
      where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`,
  );
  return row?.count;
};

// The embedded database has one session: there are no two transactions at a time.
test.skipIf(openedKind === "embedded")(
  "following jobs of several stores are stored by two transactions at once, whatever locks their stores share",
  async () => {
    const { high, falling, rising } = await oppositePairs();
    const follow = (stores: readonly string[]) =>
      withTransaction(database.db, (transaction: Db) => enqueueFollowing(transaction, stores, NOW));
    const others: Promise<void>[] = [];
    await withTransaction(database.work, async (transaction) => {
      await enqueueFollowing(transaction, [high], NOW);
      others.push(follow(falling));
      await vi.waitFor(async () => expect(await waiting()).toBe(1), WAIT);
      others.push(follow(rising));
      await vi.waitFor(async () => expect(await waiting()).toBe(2), WAIT);
    });
    await Promise.all(others);
    const [stored] = await database.db.execute<{ keys: number }>(
      sql`select count(distinct order_key)::int as keys from outbox_events`,
    );
    expect(stored?.keys).toBe(new Set([...falling, ...rising]).size);
  },
);
