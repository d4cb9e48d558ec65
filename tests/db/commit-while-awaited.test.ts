import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { rotateApiKey } from "../../src/access/keys/change-api-key.ts";
import { issueApiKey } from "../../src/access/keys/issue-api-key.ts";
import { commitWhileAwaited, connect } from "../../src/db/connect.ts";
import { withTransaction } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { migrate } from "../../src/db/migrate.ts";
import { apiKeys } from "../../src/db/tables/api-keys.ts";
import { auditLog } from "../../src/db/tables/audit-log.ts";
import { changeCounters } from "../../src/db/tables/change-counters.ts";
import { holdTable } from "../support/faults/hold-table.ts";
import { startPostgresCluster } from "../support/servers/databases/postgres-cluster.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";
import { openUserAccess } from "../support/stages/access/user-access.ts";

const WAIT_MS = 1_000;

const cluster = await startPostgresCluster();
afterAll(() => cluster?.remove());

describe("A transaction of a caller", () => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase();
  });
  afterEach(() => database.db.delete(changeCounters));
  afterAll(() => database.close());

  /** Writes a row, and another one at the end of the transaction's work. */
  async function write(signal: AbortSignal, atTheEnd = () => {}): Promise<string> {
    return withTransaction(commitWhileAwaited(database.db, signal), async (transaction) => {
      await transaction.insert(changeCounters).values({ name: "one", seq: 1 });
      atTheEnd();
      await transaction.insert(changeCounters).values({ name: "two", seq: 1 });
      return "written";
    });
  }
  const written = async () => (await database.db.select().from(changeCounters)).length;

  it("commits while it is waited for", async () => {
    expect(await write(new AbortController().signal)).toBe("written");
    expect(await written()).toBe(2);
  });

  it("is rolled back once its caller has given up", async () => {
    const controller = new AbortController();
    const reason = new Error("no answer within 1 ms");
    await expect(write(controller.signal, () => controller.abort(reason))).rejects.toBe(reason);
    expect(await written()).toBe(0);
  });
});

if (cluster !== undefined) {
  describe("A change that was answered with 503", () => {
    it("leaves a key with the secret that its holder knows", async () => {
      // Without a limit on statements: one that waits for a row outlasts its caller.
      const database = connect({
        kind: "postgres",
        url: cluster.url,
        waitMs: WAIT_MS,
        driver: { max: 4 },
      });
      await migrate(database);
      const here = await openUserAccess(database);
      const { admin, access } = here;
      const asked = { fields: { name: "a key" }, ownerId: undefined };
      const { key, text } = await issueApiKey(access, admin, asked);

      const held = await holdTable(cluster.url, "change_counters");
      const rotated = rotateApiKey(access, admin, { id: key.id, overlapSeconds: 0 });
      await expect(rotated).rejects.toMatchObject({ code: "storage_unavailable" });
      expect(database.figures().inUse).toBe(1);
      await held.release();
      await expect.poll(() => database.figures().inUse, { timeout: 10_000 }).toBe(0);

      const [row] = await database.db.select().from(apiKeys).where(eq(apiKeys.id, key.id));
      expect(row).toMatchObject({ keyHash: access.hashApiKey(text), previousKeyHash: null });
      const rotations = eq(auditLog.action, "api_key.rotate");
      expect(await database.db.select().from(auditLog).where(rotations)).toEqual([]);
      await here.close();
    });
  });
}
