import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createApiKey, newApiKeyText } from "../../../../src/access/keys/create-api-key.ts";
import { type ApiKeys, openApiKeys } from "../../../../src/access/keys/known/api-keys.ts";
import { KeyUses } from "../../../../src/access/keys/known/key-uses.ts";
import { pruneDeletedKeys } from "../../../../src/access/keys/known/prune-deleted-keys.ts";
import { ServiceError } from "../../../../src/core/service-error.ts";
import { withTransaction } from "../../../../src/db/context.ts";
import type { Database } from "../../../../src/db/database.ts";
import { nextChange } from "../../../../src/db/next-change.ts";
import { apiKeys, deletedApiKeys } from "../../../../src/db/tables/api-keys.ts";
import { changeCounters } from "../../../../src/db/tables/change-counters.ts";
import { users } from "../../../../src/db/tables/users.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { openTestDatabase } from "../../../support/servers/databases/test-database.ts";
import { hashApiKey } from "../../../support/stages/access/test-keys.ts";

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

afterEach(async () => {
  for (const keys of open.splice(0)) await keys.close();
});

afterAll(() => database.close());

/** One replica's view of the keys. */
async function replica(
  view: Pick<Database, "db" | "askOwn" | "kind"> = database,
): Promise<ApiKeys> {
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

/** Lets the test stand between a replica and its database: what it was told is handed over when the test allows. */
function watched(kind: Database["kind"] = "postgres") {
  let asked = 0;
  let hold: (place: number) => Promise<void> | undefined = () => undefined;
  const askOwn: Database["ask"] = async (work) => {
    const place = asked;
    asked += 1;
    const result = await database.ask(work);
    await hold(place);
    return result;
  };
  return {
    view: { db: database.db, askOwn, kind },
    asked: () => asked,
    /** From now on; places count from 0. */
    hold(next: typeof hold) {
      asked = 0;
      hold = next;
    },
  };
}

function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

async function ageDeletions(days: number) {
  const deletedAt = sql`now() - make_interval(days => ${days})`;
  await database.db.update(deletedApiKeys).set({ deletedAt });
}

const soon = { timeout: 20_000, interval: 20 };
const NOW = Date.UTC(2026, 10, 21);

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
    const key = await keys.find(text, NOW);
    expect(key).toEqual({
      caller: {
        kind: "key",
        keyId: row.id,
        ownerId,
        role: "admin",
        assistantId: "asst_1",
        passthrough: true,
        maxLevel: "write",
        toolScope: { tools: ["search"], sql_connections: ["sales"] },
        limits: {
          monthlyTokens: 9_007_199_254_740_991,
          requests: 0,
          requestsPerMinute: null,
          tokens: null,
        },
        isRestricted: true,
      },
      keyHash: hashApiKey(text),
      previous: null,
      isActive: true,
      expiresAt: Date.UTC(2027, 0, 1),
      ipAllow: expect.anything(),
      changeSeq: 2,
    });
    expect(key?.ipAllow?.has("10.1.1.1")).toBe(true);
    expect(key?.ipAllow?.has("11.1.1.1")).toBe(false);
    expect(await keys.find(newApiKeyText(), NOW)).toBeUndefined();
  });

  it("are as restricted as any one of their bounds makes them", async () => {
    const { row, text } = await create();
    const keys = await replica();
    const isRestricted = async (fields: Partial<typeof apiKeys.$inferInsert>) => {
      await change(row.id, fields);
      await keys.catchUp();
      return (await keys.find(text, NOW))?.caller.isRestricted;
    };
    const unbound = { ipAllow: [], expiresAt: null, assistantId: null };
    expect(await isRestricted(unbound)).toBe(false);
    expect(await isRestricted({ passthrough: true, maxLevel: "full_auto" })).toBe(false);
    expect(await isRestricted({ ...unbound, ipAllow: ["::/0"] })).toBe(true);
    expect(await isRestricted({ ...unbound, expiresAt: new Date("2999-01-01") })).toBe(true);
    expect(await isRestricted({ ...unbound, assistantId: "asst_1" })).toBe(true);
    for (const limit of ["monthlyTokenLimit", "requestLimit", "rpmLimit", "tokenLimit"] as const) {
      expect(await isRestricted({ ...unbound, [limit]: 9 }), limit).toBe(true);
      expect(await isRestricted({ [limit]: null }), limit).toBe(false);
    }
  });

  it("follow what another replica creates, changes and deletes", async () => {
    const keys = await replica();
    const find = async (text: string) => keys.find(text, NOW);
    const { row, text } = await create();
    await expect.poll(async () => (await find(text))?.isActive, soon).toBe(true);
    await change(row.id, { state: "inactive" });
    await expect.poll(async () => (await find(text))?.isActive, soon).toBe(false);
    const nextText = newApiKeyText();
    await change(row.id, { keyHash: hashApiKey(nextText) });
    await expect.poll(async () => (await find(nextText))?.caller.keyId, soon).toBe(row.id);
    expect(await find(text)).toBeUndefined();
    await remove(row.id);
    await expect.poll(() => find(nextText), soon).toBeUndefined();
  });

  it("take in a change of this process at once", async () => {
    const keys = await replica();
    const { row, text } = await create();
    await keys.catchUp();
    expect(keys.find(text, NOW)).toMatchObject({ isActive: true });
    await change(row.id, { state: "inactive" });
    await keys.catchUp();
    expect(keys.find(text, NOW)).toMatchObject({ isActive: false });
    await remove(row.id);
    await keys.catchUp();
    expect(await keys.find(text, NOW)).toBeUndefined();
  });

  it("hold the owner's role, and are not active while the owner is disabled", async () => {
    const { row, text } = await create();
    const keys = await replica();
    const changeOwner = async (fields: Partial<typeof users.$inferInsert>) => {
      await database.db.update(users).set(fields).where(eq(users.id, ownerId));
      await change(row.id, {});
      await keys.catchUp();
      return keys.find(text, NOW);
    };
    expect(await changeOwner({ role: "user" })).toMatchObject({
      caller: { role: "user" },
      isActive: true,
    });
    expect(await changeOwner({ state: "disabled" })).toMatchObject({ isActive: false });
    expect(await changeOwner({ state: "active" })).toMatchObject({ isActive: true });
  });

  it("know the secret before a rotation until its time, exactly", async () => {
    const { row, text } = await create();
    const keys = await replica();
    const rotate = async (previousText: string | null, expiresAt: number | null) => {
      const nextText = newApiKeyText();
      await change(row.id, {
        keyHash: hashApiKey(nextText),
        previousKeyHash: previousText === null ? null : hashApiKey(previousText),
        previousExpiresAt: expiresAt === null ? null : new Date(expiresAt),
      });
      await keys.catchUp();
      return nextText;
    };
    const second = await rotate(text, NOW + 1_000);
    expect(await keys.find(text, NOW + 999)).toBe(await keys.find(second, NOW));
    expect(await keys.find(text, NOW + 1_000)).toBeUndefined();
    const third = await rotate(second, NOW + 2_000);
    expect(await keys.find(text, NOW)).toBeUndefined();
    expect(await keys.find(second, NOW)).toBe(await keys.find(third, NOW));
    const last = await rotate(null, null);
    expect(await keys.find(third, NOW)).toBeUndefined();
    await change(row.id, { previousKeyHash: hashApiKey(third), previousExpiresAt: new Date(NOW) });
    await remove(row.id);
    await keys.catchUp();
    for (const gone of [third, last]) expect(await keys.find(gone, 0)).toBeUndefined();
  });

  it("share what most of them have, and are all there when they are many", async () => {
    await database.db.execute(sql`
      insert into api_keys (id, name, key_hash, last_four, owner_id, change_seq)
      select 'key_' || n, 'one', 'hash ' || n, 'aaaa', ${ownerId}, 1 from generate_series(1, 12000) as n
    `);
    await database.db.execute(sql`insert into change_counters values ('api_keys', 1)`);
    const { row, text } = await create();
    const other = await create();
    const keys = await replica();
    const [one, two] = [await keys.find(text, NOW), await keys.find(other.text, NOW)];
    expect(one?.caller.keyId).toBe(row.id);
    expect(one?.caller.toolScope).toBe(two?.caller.toolScope);
    await change("key_11999", { keyHash: "of another secret" });
    await remove(row.id);
    await keys.catchUp();
    expect(await keys.find(text, NOW)).toBeUndefined();
  });
});

describe("keys that change while they are read", () => {
  it("see no change go by that commits late", async () => {
    const keys = await replica();
    const text = newApiKeyText();
    const late = withTransaction(database.db, async (transaction) => {
      await createApiKey(transaction, { name: "late", ownerId, text }, hashApiKey);
      await transaction.execute(sql`select pg_sleep(1)`);
    });
    const next = create("next");
    await Promise.all([late, next]);
    await expect.poll(async () => (await keys.find(text, NOW))?.isActive, soon).toBe(true);
    await expect
      .poll(async () => (await keys.find((await next).text, NOW))?.isActive, soon)
      .toBe(true);
  });

  it("never go back to an older state that a look under way brings", async () => {
    const { row, text } = await create();
    const store = watched("embedded");
    const keys = await replica(store.view);
    await change(row.id, { name: "seen by the slow look" });
    const { opened, open } = gate();
    // The look has read the key and hands it over late.
    store.hold((place) => (place === 1 ? opened : undefined));
    let isSlowOver = false;
    const slow = keys.catchUp().then(() => {
      isSlowOver = true;
    });
    await expect.poll(store.asked, soon).toBe(2);
    await remove(row.id);
    let isCaughtUp = false;
    const caughtUp = keys.catchUp().then(() => {
      isCaughtUp = true;
    });
    // Long enough for a look that would not wait for the slow one.
    await Promise.race([caughtUp, new Promise((resolve) => setTimeout(resolve, 500))]);
    open();
    const seen: unknown[] = [];
    while (!(isSlowOver && isCaughtUp)) {
      await new Promise((resolve) => setImmediate(resolve));
      if (isCaughtUp) seen.push(keys.find(text, NOW));
    }
    await Promise.all([slow, caughtUp]);
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.filter((key) => key !== undefined)).toEqual([]);
  });

  it("hold a change at once also when the key changes again just then", async () => {
    const { row, text } = await create();
    const store = watched();
    const keys = await replica(store.view);
    await change(row.id, { state: "inactive" });
    let again: unknown;
    // The counter is read, the rows are not.
    store.hold((place) => {
      if (place !== 0) return undefined;
      again = change(row.id, { name: "renamed" });
      return (again as Promise<unknown>).then(() => undefined);
    });
    await keys.catchUp();
    expect(keys.find(text, NOW)).toMatchObject({ isActive: false });
    expect(again).toBeInstanceOf(Promise);
  });

  it("are read in two looks, however many ask for one at once", async () => {
    const store = watched();
    const keys = await replica(store.view);
    const { text } = await create();
    store.hold(() => undefined);
    await Promise.all(Array.from({ length: 500 }, () => keys.catchUp()));
    expect(keys.find(text, NOW)).toMatchObject({ isActive: true });
    expect(store.asked()).toBeLessThan(20);
  });
});

describe("a key that is unknown here", () => {
  it("is found at its first use when another replica has just made it, and at once from then on", async () => {
    const keys = await replica(watched().view);
    const { row, text } = await create();
    const first = keys.find(text, NOW);
    expect(first).toBeInstanceOf(Promise);
    expect((await first)?.caller.keyId).toBe(row.id);
    expect(keys.find(text, NOW)).toMatchObject({ isActive: true });
  });

  it("costs the database little, however many are tried", async () => {
    const store = watched();
    const keys = await replica(store.view);
    store.hold(() => undefined);
    const startedAt = performance.now();
    for (let round = 0; round < 12; round += 1) {
      const found = Array.from({ length: 50 }, () => keys.find(newApiKeyText(), NOW));
      expect(await Promise.all(found)).not.toContainEqual(expect.anything());
    }
    const elapsedMs = performance.now() - startedAt;
    // One look in 100 ms, the poll's own beside it; each asks once, for the counter.
    expect(store.asked()).toBeLessThanOrEqual(elapsedMs / 100 + elapsedMs / 500 + 3);
  });

  it("is judged at once where no other process can have made it", async () => {
    const keys = await replica({ ...database, kind: "embedded" });
    expect(keys.find(newApiKeyText(), NOW)).toBeUndefined();
  });

  it("cannot be judged while the database is away; known ones go on", async () => {
    const { text } = await create();
    let isAway = false;
    const keys = await replica({
      db: database.db,
      kind: "postgres",
      askOwn: (work) =>
        isAway
          ? Promise.reject(new ServiceError("storage_unavailable", "away"))
          : database.ask(work),
    });
    const unknown = newApiKeyText();
    const code = () => codeOf(async () => keys.find(unknown, NOW));
    expect(await code()).toBe("none");
    isAway = true;
    await expect.poll(code, soon).toBe("storage_unavailable");
    expect(keys.find(text, NOW)).toMatchObject({ isActive: true });
    isAway = false;
    await expect.poll(code, soon).toBe("none");
  });
});

describe("deleted keys", () => {
  it("are forgotten a day after, and not before", async () => {
    const [old, recent] = [await create("old"), await create("recent")];
    await remove(old.row.id);
    await ageDeletions(2);
    await remove(recent.row.id);
    await pruneDeletedKeys(database.db);
    const left = await database.db.select({ id: deletedApiKeys.id }).from(deletedApiKeys);
    expect(left).toEqual([{ id: recent.row.id }]);
    await pruneDeletedKeys(database.db);
  });

  it("are gone also from a replica that was away until they were forgotten", async () => {
    const [gone, kept] = [await create("gone"), await create("kept")];
    let isAway = false;
    const keys = await replica({
      ...database,
      askOwn: (work) =>
        isAway
          ? Promise.reject(new ServiceError("storage_unavailable", "away"))
          : database.ask(work),
    });
    isAway = true;
    await remove(gone.row.id);
    await change(kept.row.id, { name: "changed" });
    await ageDeletions(2);
    await pruneDeletedKeys(database.db);
    await keys.catchUp();
    expect(await keys.find(gone.text, NOW)).toMatchObject({ isActive: true });
    isAway = false;
    await keys.catchUp();
    expect(await keys.find(gone.text, NOW)).toBeUndefined();
    expect(await keys.find(kept.text, NOW)).toMatchObject({ isActive: true });
  });

  it("are gone also when the database was set back to an earlier state", async () => {
    const [gone, kept] = [await create("gone"), await create("kept")];
    const keys = await replica();
    await database.db.delete(apiKeys).where(eq(apiKeys.id, gone.row.id));
    await database.db.update(changeCounters).set({ seq: 1 });
    await keys.catchUp();
    expect(await keys.find(gone.text, NOW)).toBeUndefined();
    expect(await keys.find(kept.text, NOW)).toMatchObject({ isActive: true });
  });
});

describe("the last use of a key", () => {
  const lastUse = async (id: string) => {
    const [row] = await database.db.select().from(apiKeys).where(eq(apiKeys.id, id));
    return { at: row?.lastUsedAt?.getTime(), changeSeq: row?.changeSeq };
  };

  it("is written when the service ends, changes nothing else, and is never lowered", async () => {
    const { row } = await create();
    const use = async (...moments: number[]) => {
      const keys = await replica();
      for (const moment of moments) keys.noteUse(row.id, moment);
      await keys.close();
      return lastUse(row.id);
    };
    expect(await use()).toEqual({ at: undefined, changeSeq: 1 });
    expect(await use(NOW, NOW + 5, NOW + 2)).toEqual({ at: NOW + 5, changeSeq: 1 });
    expect(await use(NOW + 3)).toEqual({ at: NOW + 5, changeSeq: 1 });
    expect(await use(NOW + 7)).toEqual({ at: NOW + 7, changeSeq: 1 });
  });

  it("is written for many keys at once, and for those that are left", async () => {
    const made = [await create(), await create(), await create()];
    const uses = new KeyUses();
    for (const [index, { row }] of made.entries()) uses.note(row.id, NOW + index);
    uses.note("key_unknown", NOW);
    await remove(made[1]?.row.id ?? "");
    let statements = 0;
    await uses.write((work) => {
      statements += 1;
      return database.ask(work);
    });
    expect(statements).toBe(1);
    expect(await lastUse(made[0]?.row.id ?? "")).toMatchObject({ at: NOW });
    expect(await lastUse(made[2]?.row.id ?? "")).toMatchObject({ at: NOW + 2 });
  });

  it("is kept while the database is away", async () => {
    const { row } = await create();
    const uses = new KeyUses();
    uses.note(row.id, NOW);
    await expect(uses.write(() => Promise.reject(new Error("away")))).rejects.toThrow("away");
    uses.note(row.id, NOW - 5);
    await uses.write(database.ask);
    expect(await lastUse(row.id)).toMatchObject({ at: NOW });
  });

  it("waits for nobody who is changing the key, and is written then", async () => {
    // The embedded database has one session: nobody changes anything beside another.
    if (database.kind === "embedded") return;
    const [{ row }, free] = [await create(), await create()];
    const uses = new KeyUses();
    uses.note(row.id, NOW);
    uses.note(free.row.id, NOW);
    await withTransaction(database.db, async (transaction) => {
      await transaction.update(apiKeys).set({ name: "new" }).where(eq(apiKeys.id, row.id));
      await uses.write(database.ask);
      expect(await lastUse(free.row.id)).toMatchObject({ at: NOW });
    });
    expect(await lastUse(row.id)).toMatchObject({ at: undefined });
    await uses.write(database.ask);
    expect(await lastUse(row.id)).toMatchObject({ at: NOW });
  });
});

async function codeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "none";
  } catch (thrown) {
    return thrown instanceof ServiceError ? thrown.code : "other";
  }
}
