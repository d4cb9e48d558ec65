import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ApiKeys, openApiKeys } from "../../src/access/api-keys.ts";
import { createApiKey, newApiKeyText } from "../../src/access/create-api-key.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import { withTransaction } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { nextChange } from "../../src/db/next-change.ts";
import { apiKeys, deletedApiKeys } from "../../src/db/tables/api-keys.ts";
import { users } from "../../src/db/tables/users.ts";
import { createLog } from "../../src/lib/log.ts";
import { openTestDatabase } from "../support/test-database.ts";
import { hashApiKey } from "../support/test-keys.ts";

const log = createLog("silent");
const ownerId = "usr_1";
const open: ApiKeys[] = [];
let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});

beforeEach(async () => {
  await database.db.execute(sql`truncate users, change_counters, deleted_api_keys cascade`);
  await database.db.insert(users).values({ id: ownerId, username: "admin", role: "admin" });
});

afterEach(() => {
  for (const keys of open.splice(0)) keys.close();
});

afterAll(() => database.close());

/** One replica's view of the keys. */
async function replica(view: Pick<Database, "db" | "ask" | "kind"> = database): Promise<ApiKeys> {
  const keys = await openApiKeys({ database: view, hashApiKey, log });
  open.push(keys);
  return keys;
}

/** A key written by somebody: `create` gives its row and its text. */
async function create(name = "one") {
  const text = newApiKeyText();
  const row = await withTransaction(database.db, (transaction) =>
    createApiKey(transaction, { name, ownerId, text }, hashApiKey),
  );
  if (row === undefined) throw new Error("the key is there already");
  return { row, text };
}

async function change(id: string, fields: Partial<typeof apiKeys.$inferInsert>) {
  return withTransaction(database.db, async (transaction) => {
    const changeSeq = await nextChange(transaction, "api_keys");
    const [row] = await transaction
      .update(apiKeys)
      .set({ ...fields, changeSeq })
      .where(eq(apiKeys.id, id))
      .returning();
    if (row === undefined) throw new Error("no such key");
    return row;
  });
}

async function remove(id: string): Promise<number> {
  return withTransaction(database.db, async (transaction) => {
    const changeSeq = await nextChange(transaction, "api_keys");
    await transaction.delete(apiKeys).where(eq(apiKeys.id, id));
    await transaction.insert(deletedApiKeys).values({ id, changeSeq });
    return changeSeq;
  });
}

const soon = { timeout: 5_000, interval: 20 };

describe("the keys in memory", () => {
  it("hold every key of the database, with all that binds it", async () => {
    const { row, text } = await create();
    await change(row.id, {
      passthrough: true,
      maxLevel: "write",
      toolScope: { tools: ["search"], sql_connections: ["sales"] },
      monthlyTokenLimit: 9_007_199_254_740_991,
      requestLimit: 0,
      ipAllow: ["10.0.0.0/8", "::1"],
      expiresAt: new Date("2027-01-01T00:00:00Z"),
      assistantId: "asst_1",
    });
    const keys = await replica();
    expect(keys.find(text)).toEqual({
      caller: { kind: "key", keyId: row.id, ownerId, passthrough: true },
      isActive: true,
      expiresAt: Date.UTC(2027, 0, 1),
      assistantId: "asst_1",
      maxLevel: "write",
      toolScope: { tools: ["search"], sql_connections: ["sales"] },
      limits: {
        monthlyTokens: 9_007_199_254_740_991,
        requests: 0,
        requestsPerMinute: null,
        tokens: null,
      },
      ipAllow: ["10.0.0.0/8", "::1"],
      changeSeq: 2,
    });
    expect(keys.find(newApiKeyText())).toBeUndefined();
  });

  it("follow what another replica creates, changes and deletes", async () => {
    const keys = await replica();
    const { row, text } = await create();
    await expect.poll(() => keys.find(text)?.isActive, soon).toBe(true);
    await change(row.id, { state: "inactive" });
    await expect.poll(() => keys.find(text)?.isActive, soon).toBe(false);
    const nextText = newApiKeyText();
    await change(row.id, { keyHash: hashApiKey(nextText) });
    await expect.poll(() => keys.find(nextText)?.caller.keyId, soon).toBe(row.id);
    expect(keys.find(text)).toBeUndefined();
    await remove(row.id);
    await expect.poll(() => keys.find(nextText), soon).toBeUndefined();
  });

  it("take in a change of this process at once, and never an older one after it", async () => {
    const keys = await replica();
    const { row, text } = await create();
    keys.apply(row);
    expect(keys.find(text)?.isActive).toBe(true);
    const changed = await change(row.id, { state: "inactive" });
    keys.apply(changed);
    keys.apply(row);
    expect(keys.find(text)?.isActive).toBe(false);
    keys.remove(row.id, await remove(row.id));
    keys.apply(changed);
    expect(keys.find(text)).toBeUndefined();
  });

  it("see no change go by that commits late", async () => {
    const keys = await replica();
    const text = newApiKeyText();
    const late = withTransaction(database.db, async (transaction) => {
      await createApiKey(transaction, { name: "late", ownerId, text }, hashApiKey);
      await transaction.execute(sql`select pg_sleep(1)`);
    });
    const next = create("next");
    await Promise.all([late, next]);
    await expect.poll(() => keys.find(text)?.isActive, soon).toBe(true);
    await expect.poll(async () => keys.find((await next).text)?.isActive, soon).toBe(true);
  });

  it("go on while the database is away; one unknown cannot be judged then", async () => {
    const { text } = await create();
    let isAway = false;
    const keys = await replica({
      db: database.db,
      kind: "postgres",
      ask: (work) =>
        isAway
          ? Promise.reject(new ServiceError("storage_unavailable", "away"))
          : database.ask(work),
    });
    const unknown = newApiKeyText();
    expect(keys.find(unknown)).toBeUndefined();
    isAway = true;
    await expect.poll(() => codeOf(() => keys.find(unknown)), soon).toBe("storage_unavailable");
    expect(keys.find(text)?.isActive).toBe(true);
    isAway = false;
    await expect.poll(() => codeOf(() => keys.find(unknown)), soon).toBe("none");
  });
});

function codeOf(work: () => unknown): string {
  try {
    work();
    return "none";
  } catch (thrown) {
    return thrown instanceof ServiceError ? thrown.code : "other";
  }
}
