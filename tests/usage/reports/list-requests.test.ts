import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SessionCaller } from "../../../src/core/callers/caller.ts";
import { createRequestIds } from "../../../src/lib/id.ts";
import { readRequest } from "../../../src/usage/reports/find-request.ts";
import {
  listRequests,
  type RequestPlace,
  type RequestQuery,
} from "../../../src/usage/reports/list-requests.ts";
import type { MeteredRequest } from "../../../src/usage/reports/metered-request.ts";
import { dayTable, listUsageDays, makeUsageDays } from "../../../src/usage/sums/usage-days.ts";
import type { UsageRecord } from "../../../src/usage/usage-record.ts";
import { openedKind } from "../../support/servers/databases/test-database.ts";
import {
  addUser,
  openUserAccess,
  type TestUserAccess,
} from "../../support/stages/access/user-access.ts";
import { randomUsage, storeUsage } from "../../support/stages/usage/usage-ledger.ts";

const DAY_MS = 86_400_000;
const NOW = Date.parse("2026-11-21T10:34:56.789Z");
const RETENTION_DAYS = 30;
const KEYS = ["key_1", "key_2", "key_3"];

let store: TestUserAccess;
let owned: string;
let owner: SessionCaller;
let ledger: UsageRecord[];

beforeAll(async () => {
  store = await openUserAccess();
  const userId = await addUser(store, "owner", "password of the owner");
  await store.createKey(userId);
  const [key] = await store.database.db.execute<{ id: string }>(
    sql`select id from api_keys where owner_id = ${userId}`,
  );
  owned = key?.id ?? "";
  owner = (await store.actorFor("owner", "password of the owner")).caller;
  store.world.now = NOW;
  // Some days with a partition of their own, the others without.
  await makeUsageDays(store.database.db, NOW - 3 * DAY_MS);
  ledger = randomUsage({
    seed: 11,
    count: 2_500,
    keyIds: [...KEYS, owned],
    from: NOW - 6 * DAY_MS,
    to: NOW,
  });
  // Many of one moment: only their ids tell which comes first.
  const crowd = ledger[0]?.startedAt ?? 0;
  for (const [index, record] of ledger.slice(0, 40).entries()) {
    Object.assign(record, { startedAt: crowd, id: `crowd-${String(index).padStart(3, "0")}` });
  }
  await storeUsage(store.database, ledger);
});
afterAll(() => store.close());

const list = (query: Partial<RequestQuery>, caller: SessionCaller = store.admin.caller) =>
  listRequests(
    { database: store.database, clock: store.access.clock, retentionDays: RETENTION_DAYS },
    caller,
    { limit: 1_000, ...query },
  );

/** As `list`, on a database that is so slow that a search stops after its first look. */
function listSlowly(query: Partial<RequestQuery>) {
  const database: Pick<typeof store.database, "ask"> = {
    async ask(work) {
      const until = performance.now() + 200;
      while (performance.now() < until);
      return store.database.ask(work);
    },
  };
  const reading = { database, clock: store.access.clock, retentionDays: RETENTION_DAYS };
  return listRequests(reading, store.admin.caller, { limit: 1_000, ...query });
}

async function listAll(
  query: Partial<RequestQuery>,
  caller: SessionCaller = store.admin.caller,
  between: () => Promise<void> = async () => {},
) {
  const rows: MeteredRequest[] = [];
  let before: RequestPlace | undefined;
  for (let page = 0; page < 1_000; page += 1) {
    const { requests, next } = await list({ ...query, ...(before && { before }) }, caller);
    rows.push(...requests);
    if (next === null) return rows;
    before = next;
    await between();
  }
  throw new Error("the list has no end");
}

/** Ids as the list is to have them. */
function newestFirst(records: readonly UsageRecord[]): string[] {
  return [...records]
    .sort((one, other) => other.startedAt - one.startedAt || (one.id < other.id ? 1 : -1))
    .map(({ id }) => id);
}

const idsOf = (rows: readonly MeteredRequest[]) => rows.map(({ id }) => id);

/** As `list`, with how often the database was asked. */
const countLooks = async (query: RequestQuery) => {
  let looks = 0;
  const ask: typeof store.database.ask = (work) => {
    looks += 1;
    return store.database.ask(work);
  };
  const reading = { database: { ask }, clock: store.access.clock, retentionDays: RETENTION_DAYS };
  return { page: await listRequests(reading, store.admin.caller, query), looks };
};

describe("the list of requests", () => {
  it("shows what was metered, and whose key it was", async () => {
    const record = ledger.find(({ keyId }) => keyId === owned);
    const [shown] = (await list({ requestId: record?.id ?? "" })).requests;
    const { outcome } = record ?? {};
    expect(shown).toEqual({
      ...record,
      assistantId: record?.assistantId ?? null,
      success: outcome === "ok",
      toolName: null,
      runId: null,
      keyName: "a key",
      ownerId: owner.ownerId,
      ownerName: "owner",
    });
    const other = ledger.find(({ keyId }) => keyId === "key_1");
    const [nameless] = (await list({ requestId: other?.id ?? "" })).requests;
    expect(nameless).toMatchObject({ keyName: null, ownerId: null, ownerName: null });
  });

  it("goes through 2,500 rows, some of one moment, without loss or doubling while rows arrive", async () => {
    let arrived = 0;
    const arrivals = async () => {
      arrived += 1;
      const news = randomUsage({
        seed: 100 + arrived,
        count: 20,
        keyIds: ["key_of_news"],
        // Newer than the whole list, and older than what was listed.
        from: NOW - 60_000,
        to: NOW,
      });
      await storeUsage(store.database, news);
    };
    const rows = await listAll({ limit: 37 }, store.admin.caller, arrivals);
    const known = rows.filter(({ keyId }) => keyId !== "key_of_news");
    expect(idsOf(known)).toEqual(newestFirst(ledger));
    expect(new Set(idsOf(rows)).size).toBe(rows.length);
    expect(arrived).toBeGreaterThan(60);
    await store.database.db.execute(sql`delete from usage_records where key_id = 'key_of_news'`);
  });

  it.each<[string, Partial<RequestQuery>, (record: UsageRecord) => boolean]>([
    ["key", { keyId: "key_2" }, ({ keyId }) => keyId === "key_2"],
    ["model", { model: "llama" }, ({ model }) => model === "llama"],
    ["assistant", { assistantId: "asst_1" }, ({ assistantId }) => assistantId === "asst_1"],
    ["assistant that never answered", { assistantId: "asst_2" }, () => false],
    ["channel", { channel: "embeddings" }, ({ channel }) => channel === "embeddings"],
    ["outcome", { outcome: "aborted" }, ({ outcome }) => outcome === "aborted"],
    ["good outcome", { outcome: "ok" }, ({ outcome }) => outcome === "ok"],
    ["status", { status: 429 }, ({ status }) => status === 429],
    ["good status", { status: 200 }, ({ status }) => status === 200],
    [
      "time",
      { from: NOW - 2 * DAY_MS, to: NOW - DAY_MS },
      ({ startedAt }) => startedAt >= NOW - 2 * DAY_MS && startedAt < NOW - DAY_MS,
    ],
    [
      "all of them",
      { keyId: "key_1", model: "qwen3", channel: "chat", outcome: "error", status: 502 },
      ({ keyId, model, channel, outcome }) =>
        keyId === "key_1" && model === "qwen3" && channel === "chat" && outcome === "error",
    ],
    ["what there is not", { model: "no such model" }, () => false],
  ])("is filtered by %s, in pages too", async (_name, query, isMeant) => {
    const meant = newestFirst(ledger.filter(isMeant));
    expect(idsOf(await listAll(query))).toEqual(meant);
    expect(idsOf(await listAll({ ...query, limit: 13 }))).toEqual(meant);
  });

  it("has the first moment of a range in it, and not the last", async () => {
    const { startedAt, id } = ledger[1_000] as UsageRecord;
    expect(idsOf((await list({ from: startedAt, to: startedAt + 1 })).requests)).toContain(id);
    expect(idsOf((await list({ from: startedAt - 1, to: startedAt })).requests)).not.toContain(id);
    expect(idsOf(await listAll({ from: startedAt + 1 }))).not.toContain(id);
  });

  it("goes on from where a search stopped, also when what comes next is too much for one look", async () => {
    const midnight = Date.parse("2026-11-20T00:00:00Z");
    let looks = 0;
    const ask = async (work: (db: typeof store.database.db) => Promise<unknown>) => {
      looks += 1;
      return looks === 1 ? store.database.ask(work) : undefined;
    };
    const { next } = await listRequests(
      {
        database: { ask: ask as typeof store.database.ask },
        clock: store.access.clock,
        retentionDays: RETENTION_DAYS,
      },
      store.admin.caller,
      { limit: 1_000, model: "no such model", before: { startedAt: midnight, id: "" } },
    );
    expect(next).toEqual({ startedAt: midnight - DAY_MS, id: "" });
  });

  it("has no further page where there are no rows, however slow the search is", async () => {
    const empty = { from: NOW - 29 * DAY_MS, to: NOW - 10 * DAY_MS };
    expect(await listSlowly(empty)).toMatchObject({ requests: [], next: null });
    const withRows = { ...empty, to: NOW, model: "of nobody" };
    expect(await listSlowly(withRows)).toMatchObject({ requests: [], next: { id: "" } });
  });

  it("looks for nothing in the days to come", async () => {
    const to = Date.parse("9999-12-31T23:59:59.999Z");
    const { page, looks } = await countLooks({ limit: 1, to });
    const newest = Math.max(...ledger.map(({ startedAt }) => startedAt));
    expect([page.requests[0]?.startedAt, looks]).toEqual([newest, 1]);
  });

  it("passes over the days without rows at once", async () => {
    const quiet = { from: NOW - 29 * DAY_MS, to: NOW - 7 * DAY_MS, limit: 1 };
    const nothing = await countLooks(quiet);
    expect([nothing.page.requests, nothing.page.next]).toEqual([[], null]);
    expect(nothing.looks).toBeLessThanOrEqual(2);
    const rare = { ...(ledger[100] as UsageRecord), id: "rare", startedAt: NOW - 20 * DAY_MS };
    await storeUsage(store.database, [rare]);
    try {
      const { page, looks } = await countLooks(quiet);
      expect(looks).toBeLessThanOrEqual(5);
      // A search whose time is up, on a busy machine, goes on with the next page.
      expect([[], ["rare"]]).toContainEqual(idsOf(page.requests));
      expect(idsOf(await listAll(quiet))).toEqual(["rare"]);
    } finally {
      await store.database.db.execute(sql`delete from usage_records where id = 'rare'`);
    }
  });

  it("does not reach beyond what is kept", async () => {
    const kept = Date.parse("2026-10-22T00:00:00Z");
    const old = { ...(ledger[100] as UsageRecord), id: "old", startedAt: kept - 1 };
    await storeUsage(store.database, [old, { ...old, id: "kept", startedAt: kept }]);
    const { from, to } = await list({ from: 0 });
    expect([from, to]).toEqual([kept, NOW + 1]);
    const ids = idsOf(await listAll({ from: 0, to: NOW - 7 * DAY_MS }));
    expect(ids).toEqual(["kept"]);
    await store.database.db.execute(sql`delete from usage_records where id in ('old', 'kept')`);
  });

  it("shows a user the requests of the keys owned now alone", async () => {
    const own = ledger.filter(({ keyId }) => keyId === owned);
    expect(idsOf(await listAll({}, owner))).toEqual(newestFirst(own));
    expect(idsOf(await listAll({ userId: owner.ownerId }))).toEqual(newestFirst(own));
    expect(await listAll({ keyId: "key_1" }, owner)).toEqual([]);
    const foreign = ledger.find(({ keyId }) => keyId === "key_1")?.id ?? "";
    expect((await list({ requestId: foreign }, owner)).requests).toEqual([]);
    await expect(list({ userId: store.admin.caller.ownerId }, owner)).rejects.toMatchObject({
      code: "insufficient_permission",
      param: "user_id",
    });
  });
});

describe("one request", () => {
  const read = (id: string, caller: SessionCaller = store.admin.caller) =>
    readRequest({ database: store.database }, caller, id);

  it("is found by its id, whoever made the id and however old it is", async () => {
    const ours = ledger.at(-1) as UsageRecord;
    expect(await read(ours.id)).toMatchObject({ id: ours.id, startedAt: ours.startedAt });
    expect(await read("crowd-007")).toMatchObject({ id: "crowd-007" });
    // An id of ours whose row starts at another moment than it says.
    const late = {
      ...ours,
      id: ours.id.replace(/.{5}$/, "00000"),
      startedAt: ours.startedAt + DAY_MS,
    };
    await storeUsage(store.database, [late]);
    expect(await read(late.id)).toMatchObject({ startedAt: late.startedAt });
    const to = late.startedAt + 1;
    expect(idsOf((await list({ requestId: late.id, to })).requests)).toEqual([late.id]);
    expect((await list({ requestId: late.id, to, from: to })).requests).toEqual([]);
    expect((await list({ requestId: ours.id, model: "another" })).requests).toEqual([]);
    await store.database.db.execute(sql`delete from usage_records where id = ${late.id}`);
  });

  // The embedded database has one session, which holds no lock against itself.
  it.runIf(openedKind === "postgres")(
    "whose id tells its day is searched in no day far from it, even where it does not exist",
    async () => {
      const unknown = createRequestIds()(NOW);
      const [far] = (await listUsageDays(store.database.db)).filter(
        (day) => day < NOW - 2 * DAY_MS,
      );
      await store.database.db.transaction(async (transaction) => {
        await transaction.execute(
          sql.raw(`lock table ${dayTable(far ?? 0)} in access exclusive mode`),
        );
        await expect(read(unknown)).rejects.toMatchObject({ code: "not_found" });
      });
    },
  );

  it("that is another's is not there, as one that does not exist, or cannot", async () => {
    const foreign = ledger.find(({ keyId }) => keyId === "key_1")?.id ?? "";
    const own = ledger.find(({ keyId }) => keyId === owned)?.id ?? "";
    expect(await read(own, owner)).toMatchObject({ id: own });
    const refusals = await Promise.all(
      [foreign, "req_unknown", "a\0b", "x".repeat(100_000), "' or true --", ""].map((id) =>
        read(id, owner).catch((thrown: unknown) => thrown),
      ),
    );
    const [first] = refusals;
    expect(first).toMatchObject({ code: "not_found" });
    for (const refusal of refusals) expect(String(refusal)).toBe(String(first));
  });
});
