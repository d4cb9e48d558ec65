import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deleteApiKey } from "../../../src/access/keys/change-api-key.ts";
import { deleteUser } from "../../../src/access/users/delete-user.ts";
import type { SessionCaller } from "../../../src/core/callers/caller.ts";
import { readUsageReport } from "../../../src/usage/reports/read-usage-report.ts";
import type {
  UsageGroup,
  UsageReportQuery,
  UsageRow,
} from "../../../src/usage/reports/usage-report.ts";
import { foldModelHours, foldUsageHours } from "../../../src/usage/sums/fold-usage-hours.ts";
import { storeRefusals } from "../../../src/usage/sums/limit-refusals.ts";
import { makeUsageDays } from "../../../src/usage/sums/usage-days.ts";
import type { UsageRecord } from "../../../src/usage/usage-record.ts";
import {
  addUser,
  openUserAccess,
  type TestUserAccess,
} from "../../support/stages/access/user-access.ts";
import { randomUsage, storeUsage, sumUsage } from "../../support/stages/usage/usage-ledger.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A Saturday. */
const NOW = Date.parse("2026-11-21T10:34:56.789Z");
const RETENTION_DAYS = 90;
const FROM = Date.parse("2026-10-30T00:00:00Z");
const REFUSED_AT = Date.parse("2026-11-20T10:10:00Z");

let store: TestUserAccess;
let ledger: UsageRecord[];
const keys = { admin: "", owned: "", second: "", other: "", deleted: "", orphan: "" };
const users = { owner: "", other: "" };
let owner: SessionCaller;

async function keyOf(userId: string): Promise<string> {
  await store.createKey(userId);
  const [row] = await store.database.db.execute<{ id: string }>(
    sql`select id from api_keys order by change_seq desc limit 1`,
  );
  return row?.id ?? "";
}

beforeAll(async () => {
  store = await openUserAccess();
  store.world.now = NOW;
  users.owner = await addUser(store, "owner", "password of the owner");
  users.other = await addUser(store, "other", "password of the other");
  const gone = await addUser(store, "gone", "password of one who goes");
  keys.admin = await keyOf(store.admin.caller.ownerId);
  keys.owned = await keyOf(users.owner);
  keys.second = await keyOf(users.owner);
  keys.deleted = await keyOf(users.owner);
  keys.other = await keyOf(users.other);
  keys.orphan = await keyOf(gone);
  owner = (await store.actorFor("owner", "password of the owner")).caller;
  ledger = randomUsage({
    seed: 7,
    count: 3_000,
    keyIds: Object.values(keys),
    from: FROM,
    to: NOW,
  });
  await storeUsage(store.database, ledger);
  const refusal = { slot: REFUSED_AT, keyId: keys.owned, channel: "chat" as const };
  const rpm = { ...refusal, code: "rate_limit_exceeded", refusals: 3 };
  const month = { ...refusal, code: "monthly_limit_exceeded", refusals: 4 };
  const others = { ...rpm, keyId: keys.other, channel: "messages" as const, refusals: 5 };
  await storeRefusals(store.database.db, [rpm, month, others], { writer: "test", batch: 1 });
  await deleteApiKey(store.access, store.admin, keys.deleted);
  await deleteUser(store.access, store.admin, gone);
});
afterAll(() => store.close());

const reading = () => ({
  database: store.database,
  clock: store.access.clock,
  retentionDays: RETENTION_DAYS,
});
const read = (query: Partial<UsageReportQuery>, caller: SessionCaller = store.admin.caller) =>
  readUsageReport(reading(), caller, {
    from: FROM,
    to: NOW,
    groups: ["day"],
    limit: 10_000,
    offset: 0,
    ...query,
  });

const truncated = (time: number, unit: "hour" | "day" | "month") => {
  if (unit === "month") return Date.parse(`${new Date(time).toISOString().slice(0, 7)}-01`);
  const step = unit === "hour" ? HOUR_MS : DAY_MS;
  return Math.floor(time / step) * step;
};
const OWNERS = () =>
  new Map([
    [keys.admin, store.admin.caller.ownerId],
    [keys.owned, users.owner],
    [keys.second, users.owner],
    [keys.other, users.other],
  ]);

/** What a call belongs to, in one text. */
function groupOf(record: UsageRecord, groups: readonly UsageGroup[]): string {
  const names: Record<UsageGroup, () => unknown> = {
    hour: () => truncated(record.startedAt, "hour"),
    day: () => truncated(record.startedAt, "day"),
    month: () => truncated(record.startedAt, "month"),
    key: () => record.keyId,
    model: () => record.model,
    channel: () => record.channel,
    user: () => OWNERS().get(record.keyId) ?? null,
  };
  return JSON.stringify(groups.map((group) => names[group]()));
}

function groupOfRow(row: UsageRow, groups: readonly UsageGroup[]): string {
  const names: Record<UsageGroup, () => unknown> = {
    hour: () => row.time,
    day: () => row.time,
    month: () => row.time,
    key: () => row.key?.id,
    model: () => row.model,
    channel: () => row.channel,
    user: () => row.user?.id,
  };
  return JSON.stringify(groups.map((group) => names[group]()));
}

/** Sums by group, as the ledger has them, without groups of refusals alone. */
function expected(records: readonly UsageRecord[], groups: readonly UsageGroup[]) {
  const grouped = new Map<string, UsageRecord[]>();
  for (const record of records) {
    const name = groupOf(record, groups);
    const others = grouped.get(name);
    if (others === undefined) grouped.set(name, [record]);
    else others.push(record);
  }
  return Object.fromEntries([...grouped].map(([name, of]) => [name, sumUsage(of)]));
}

function sumsOf(row: UsageRow) {
  const { time: _time, key: _key, model: _model, channel: _channel, user: _user, ...rest } = row;
  const { refused: _refused, ...sums } = rest;
  return sums;
}

function found(rows: readonly UsageRow[], groups: readonly UsageGroup[]) {
  const used = rows.filter(({ requests }) => requests > 0);
  return Object.fromEntries(used.map((row) => [groupOfRow(row, groups), sumsOf(row)]));
}

describe("a report of usage", () => {
  const singles: UsageGroup[][] = [
    ["hour"],
    ["day"],
    ["month"],
    ["key"],
    ["model"],
    ["channel"],
    ["user"],
  ];
  const pairs: UsageGroup[][] = [
    ["hour", "key"],
    ["hour", "model"],
    ["hour", "channel"],
    ["hour", "user"],
    ["day", "model"],
    ["day", "user"],
    ["month", "channel"],
    ["key", "model"],
    ["key", "user"],
    ["model", "channel"],
    ["channel", "user"],
  ];

  it.each([...singles, ...pairs].map((groups) => [groups.join(","), groups] as const))(
    "by %s says what the ledger of calls says",
    async (_name, groups) => {
      const report = await read({ groups });
      expect(found(report.rows, groups)).toEqual(expected(ledger, groups));
      expect(report.totals).toEqual({ ...sumUsage(ledger), refused: 12 });
      expect(report.hasMore).toBe(false);
    },
  );

  it("counts what limits refused beside the requests, also where nothing else was", async () => {
    const { rows: days } = await read({ groups: ["day"] });
    expect(days.filter(({ refused }) => refused !== 0)).toMatchObject([
      { time: truncated(REFUSED_AT, "day"), refused: 12 },
    ]);
    const { rows: byKey } = await read({ groups: ["key", "channel"] });
    const refusedOf = (id: string, channel: string) =>
      byKey.find((row) => row.key?.id === id && row.channel === channel)?.refused;
    expect(refusedOf(keys.owned, "chat")).toBe(7);
    expect(refusedOf(keys.other, "messages")).toBe(5);
    // A key that was only ever refused has a row.
    const hour = { from: REFUSED_AT, to: REFUSED_AT + 1 };
    await store.database.db.execute(
      sql`insert into limit_refusals values ('2026-11-20T10:00:00Z', 'key_never_let_in', 'audio', 'request_limit_exceeded', 2)`,
    );
    const { rows } = await read({ ...hour, groups: ["key"], channel: "audio" });
    expect(rows).toMatchObject([
      { key: { id: "key_never_let_in" }, requests: 0, refused: 2, latencyMs: 0 },
    ]);
    await store.database.db.execute(sql`delete from limit_refusals where channel = 'audio'`);
  });

  it.each(["key", "user", "model"] as const)(
    "by %s and day shows the few that used the most, whatever else there is",
    async (group) => {
      const whole = await read({ groups: [group], sort: "total_tokens" });
      const tokens = whole.rows.map((row) => row.inputTokens + row.outputTokens);
      expect(tokens).toEqual([...tokens].sort((one, other) => other - one));
      const asked = { groups: ["day", group] as const, sort: "total_tokens" as const };
      const { rows, totals } = await read({ ...asked, top: 2 });
      const most = whole.rows.slice(0, 2).map((row) => groupOfRow(row, [group]));
      expect(new Set(rows.map((row) => groupOfRow(row, [group])))).toEqual(new Set(most));
      const all = (await read(asked)).rows;
      expect(rows).toEqual(all.filter((row) => most.includes(groupOfRow(row, [group]))));
      expect(totals).toEqual(whole.totals);
    },
  );

  it("does not know refusals by model, and says so", async () => {
    const byModel = await read({ groups: ["model", "key"] });
    expect(new Set(byModel.rows.map(({ refused }) => refused))).toEqual(new Set([null]));
    expect(byModel.totals.refused).toBe(12);
    expect(byModel.rows.some(({ model }) => model === null)).toBe(false);
    const ofModel = await read({ groups: ["day"], model: "qwen3" });
    expect(ofModel.totals).toEqual({
      ...sumUsage(ledger.filter(({ model }) => model === "qwen3")),
      refused: null,
    });
    expect(new Set(ofModel.rows.map(({ refused }) => refused))).toEqual(new Set([null]));
  });

  it("names keys and their owners, and tells what is deleted", async () => {
    const { rows } = await read({ groups: ["key"] });
    const nameOf = (id: string) => rows.find(({ key }) => key?.id === id)?.key;
    expect(nameOf(keys.owned)).toEqual({
      id: keys.owned,
      name: "a key",
      state: "active",
      ownerId: users.owner,
      ownerName: "owner",
    });
    for (const id of [keys.deleted, keys.orphan]) {
      expect(nameOf(id)).toEqual({
        id,
        name: null,
        state: "deleted",
        ownerId: null,
        ownerName: null,
      });
    }
    const { rows: byUser } = await read({ groups: ["user"] });
    expect(byUser.map(({ user }) => user?.name).sort()).toEqual(
      ["admin", null, "other", "owner"].sort(),
    );
    expect(byUser.find(({ user }) => user?.id === null)).toMatchObject({
      user: { state: "deleted" },
      ...sumUsage(ledger.filter(({ keyId }) => [keys.deleted, keys.orphan].includes(keyId))),
    });
  });

  it.each([
    ["a key", (): Partial<UsageReportQuery> => ({ keyId: keys.second })],
    ["a deleted key", (): Partial<UsageReportQuery> => ({ keyId: keys.deleted })],
    ["a model", (): Partial<UsageReportQuery> => ({ model: "llama" })],
    ["a channel", (): Partial<UsageReportQuery> => ({ channel: "messages" })],
    ["a user", (): Partial<UsageReportQuery> => ({ userId: users.owner })],
    [
      "all of them",
      (): Partial<UsageReportQuery> => ({
        keyId: keys.owned,
        model: "qwen3",
        channel: "chat",
        userId: users.owner,
      }),
    ],
    [
      "a key and somebody else",
      (): Partial<UsageReportQuery> => ({ keyId: keys.owned, userId: users.other }),
    ],
    ["nobody", (): Partial<UsageReportQuery> => ({ userId: "usr_nobody" })],
  ])("is filtered by %s", async (_name, queryOf) => {
    const query = queryOf();
    const meant = ledger.filter(
      (record) =>
        (query.keyId === undefined || record.keyId === query.keyId) &&
        (query.model === undefined || record.model === query.model) &&
        (query.channel === undefined || record.channel === query.channel) &&
        (query.userId === undefined || OWNERS().get(record.keyId) === query.userId),
    );
    for (const group of ["channel", "hour"] as const) {
      const { rows, totals } = await read({ groups: [group], ...query });
      expect(totals).toMatchObject(sumUsage(meant));
      expect(found(rows, [group])).toEqual(expected(meant, [group]));
    }
  });

  it("reads the sums over all keys where no key is asked for, and those of the keys where one is", async () => {
    const { db } = store.database;
    await db.execute(sql`update model_hours set requests = requests + 1000000`);
    const isOverKeys = async (query: Partial<UsageReportQuery>, caller?: SessionCaller) =>
      (await read(query, caller)).totals.requests > 1_000_000;
    const ofModel = { model: "qwen3", channel: "chat" as const };
    const overKeys: UsageGroup[][] = [["hour"], ["hour", "model"], ["hour", "channel"]];
    for (const groups of overKeys) {
      for (const filter of [{}, ofModel])
        expect(await isOverKeys({ groups, ...filter })).toBe(true);
      for (const filter of [{ keyId: keys.owned }, { userId: users.owner }])
        expect(await isOverKeys({ groups, ...filter })).toBe(false);
      expect(await isOverKeys({ groups }, owner)).toBe(false);
    }
    // Of each key, for its rows; not for what they come to.
    for (const group of ["key", "user"] as const) {
      const { rows, totals } = await read({ groups: ["hour", group] });
      expect(totals.requests).toBeGreaterThan(1_000_000);
      expect(rows.every(({ requests }) => requests < 1_000_000)).toBe(true);
      expect(await isOverKeys({ groups: ["hour", group], userId: users.owner })).toBe(false);
    }
    // The hours of a day that is not whole, too.
    expect(await isOverKeys({ groups: ["model"] })).toBe(true);
    expect(await isOverKeys({ groups: ["key"] })).toBe(false);
    await db.execute(sql`update model_hours set requests = requests - 1000000`);
  });

  it("shows a user what the keys owned now have used, and nothing else", async () => {
    const own = ledger.filter(({ keyId }) => [keys.owned, keys.second].includes(keyId));
    const { rows, totals } = await read({ groups: ["key", "user"] }, owner);
    expect(found(rows, ["key", "user"])).toEqual(expected(own, ["key", "user"]));
    expect(totals).toEqual({ ...sumUsage(own), refused: 7 });
    for (const keyId of [keys.other, keys.deleted, keys.orphan, "key_unknown"]) {
      const { rows: none, totals: nothing } = await read({ groups: ["key"], keyId }, owner);
      expect([none, nothing.requests, nothing.refused]).toEqual([[], 0, 0]);
    }
    expect((await read({ userId: users.owner }, owner)).totals.requests).toBe(own.length);
    await expect(read({ userId: users.other }, owner)).rejects.toMatchObject({
      code: "insufficient_permission",
      param: "user_id",
    });
  });

  it("is exact at the borders of hours, and says which range it is over", async () => {
    const hour = Date.parse("2026-11-10T07:00:00Z");
    const within = (from: number, to: number) =>
      sumUsage(ledger.filter(({ startedAt }) => startedAt >= from && startedAt < to));
    for (const [from, to] of [
      [hour, hour + HOUR_MS],
      [hour + 1, hour + 2],
      [hour + 59 * 60_000, hour + HOUR_MS],
    ] as const) {
      const report = await read({ from, to, groups: ["hour"] });
      expect([report.from, report.to]).toEqual([hour, hour + HOUR_MS]);
      expect(report.rows).toHaveLength(1);
      expect(report.totals).toMatchObject(within(hour, hour + HOUR_MS));
    }
    const two = await read({ from: hour - 1, to: hour + 1, groups: ["hour"] });
    expect(two.rows.map(({ time }) => time)).toEqual([hour - HOUR_MS, hour]);
    expect(two.totals).toMatchObject(within(hour - HOUR_MS, hour + HOUR_MS));
  });

  it("has a row for each time of the range when it is by a time alone", async () => {
    const leap = { from: Date.parse("2024-02-27"), to: Date.parse("2024-03-02") };
    const dayNames = (rows: readonly UsageRow[]) =>
      rows.map(({ time }) => new Date(Number(time)).toISOString().slice(0, 10));
    const { rows: days } = await read({ ...leap, groups: ["day"] });
    expect(dayNames(days)).toEqual(["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01"]);
    expect(days.every(({ requests, refused }) => requests === 0 && refused === 0)).toBe(true);
    const year = { from: Date.parse("2026-01-31"), to: Date.parse("2026-12-01T00:00:00Z") };
    const { rows: months } = await read({ ...year, groups: ["month"] });
    expect(dayNames(months)).toEqual(
      Array.from({ length: 11 }, (_, index) => `2026-${String(index + 1).padStart(2, "0")}-01`),
    );
    const { rows: hours } = await read({ from: NOW - 2 * DAY_MS, groups: ["hour"] });
    expect(hours).toHaveLength(49);
    const apart = hours.map(
      ({ time }, index) => Number(time) - Number(hours[0]?.time) - index * HOUR_MS,
    );
    expect(new Set(apart)).toEqual(new Set([0]));
    // Not filled up: a chart of each key would be mostly zeros.
    const { rows: pairs } = await read({ ...leap, groups: ["day", "key"] });
    expect(pairs).toEqual([]);
  });

  it("goes by time, then by requests, and is paged without loss", async () => {
    const groups: UsageGroup[] = ["day", "key"];
    const { rows: whole } = await read({ groups });
    const order = whole.map(({ time, requests }) => [Number(time), -requests] as const);
    const sorted = [...order].sort(([one, many], [other, few]) => one - other || many - few);
    expect(order).toEqual(sorted);
    for (const paged of [groups, ["day"] as UsageGroup[]]) {
      const all = (await read({ groups: paged })).rows;
      const pages: UsageRow[] = [];
      for (let offset = 0; ; offset += 9) {
        const page = await read({ groups: paged, limit: 9, offset });
        expect(page.totals.requests).toBe(ledger.length);
        pages.push(...page.rows);
        if (!page.hasMore) break;
        expect(page.rows).toHaveLength(9);
      }
      expect(pages).toEqual(all);
    }
    const beyond = await read({ groups, offset: 1_000_000 });
    expect([beyond.rows, beyond.hasMore, beyond.totals.requests]).toEqual([[], false, 3_000]);
  });

  it.each<[UsageGroup, Partial<UsageReportQuery>]>([
    ["key", {}],
    ["user", {}],
    ["key", { model: "qwen3" }],
    ["user", { channel: "messages" }],
    ["key", { model: "llama", channel: "chat" }],
    ["key", { model: "never-called" }],
  ])("sums up each %s by the hour no further than a page needs (%o)", async (group, filter) => {
    const query = { groups: ["hour", group] as const, ...filter };
    const whole = await read(query);
    // One statement for the whole of it, which a range before the hours' own makes.
    const other = await readUsageReport({ ...reading(), retentionDays: 1 }, store.admin.caller, {
      from: FROM,
      to: NOW,
      limit: 10_000,
      offset: 0,
      ...query,
    });
    expect(whole.totals).toEqual(other.totals);
    for (const limit of [1, 7, 100]) {
      const offsets = Array.from({ length: 12 }, (_, index) =>
        Math.floor((index * (whole.rows.length + 1)) / 10),
      );
      for (const offset of offsets) {
        const page = await read({ ...query, limit, offset });
        expect(page.rows).toEqual(whole.rows.slice(offset, offset + limit));
        expect(page.hasMore).toBe(offset + limit < whole.rows.length);
        expect(page.totals).toEqual(whole.totals);
      }
    }
  });

  it("finds the hours in which calls were refused alone", async () => {
    const hour = Date.parse("2026-10-30T00:00:00Z") - 50 * HOUR_MS;
    const { db } = store.database;
    const at = sql`${new Date(hour).toISOString()}::timestamptz`;
    await db.execute(
      sql`insert into limit_refusals values (${at}, 'key_never_let_in', 'audio', 'request_limit_exceeded', 2)`,
    );
    const query = { from: hour - DAY_MS, groups: ["hour", "key"] as const };
    const { rows, hasMore } = await read({ ...query, limit: 1 });
    expect(rows).toMatchObject([
      { time: hour, key: { id: "key_never_let_in" }, requests: 0, refused: 2 },
    ]);
    expect(hasMore).toBe(true);
    expect((await read({ ...query, limit: 1, model: "qwen3" })).rows[0]?.time).not.toBe(hour);
    expect((await read({ ...query, limit: 1, channel: "chat" })).rows[0]?.time).not.toBe(hour);
    expect((await read({ ...query, limit: 1, channel: "audio" })).rows[0]?.time).toBe(hour);
    await db.execute(sql`delete from limit_refusals where channel = 'audio'`);
  });

  it("is the same by day and month when old hours were folded, and its hours are days then", async () => {
    const retentionDays = 10;
    const hourlyFrom = truncated(NOW, "day") - retentionDays * DAY_MS;
    const ask = (groups: UsageGroup[], more: Partial<UsageReportQuery> = {}) =>
      readUsageReport({ ...reading(), retentionDays }, store.admin.caller, {
        from: FROM,
        to: NOW,
        groups,
        limit: 10_000,
        offset: 0,
        ...more,
      });
    const kinds: UsageGroup[][] = [
      ["day"],
      ["month", "key"],
      ["hour"],
      ["hour", "model"],
      ["hour", "key"],
    ];
    // Within a day that is kept as one, a range is the whole day.
    const part = { from: hourlyFrom - DAY_MS - HOUR_MS, to: hourlyFrom - DAY_MS + 1 };
    const askAll = () =>
      Promise.all([
        ...kinds.map((groups) => ask(groups)),
        ask(["key"], part),
        ask(["model"], part),
      ]);
    const before = await askAll();
    expect(await foldUsageHours(store.database.db, hourlyFrom)).toBe(true);
    // One table is folded after the other: in between the answers are the same.
    expect(await askAll()).toEqual(before);
    expect(await foldModelHours(store.database.db, hourlyFrom)).toBe(true);
    const [left] = await store.database.db.execute<{ count: number }>(
      sql`
        select count(*)::int as count
        from (select hour from usage_hours union all select hour from model_hours) as hours
        where hour < ${new Date(hourlyFrom).toISOString()}::timestamptz and extract(hour from hour at time zone 'UTC') > 0`,
    );
    expect(left?.count).toBe(0);
    const after = await askAll();
    expect(after).toEqual(before);
    const hours = after[2];
    const old = hours?.rows.filter(({ time }) => Number(time) < hourlyFrom) ?? [];
    expect(old.map(({ time }) => Number(time) % DAY_MS)).toEqual(old.map(() => 0));
    expect(old).toHaveLength((hourlyFrom - FROM) / DAY_MS);
    expect(hours?.hourlyFrom).toBe(hourlyFrom);
    for (const days of after.slice(kinds.length))
      expect([days.from, days.to]).toEqual([hourlyFrom - 2 * DAY_MS, hourlyFrom]);
    // A longer retention does not bring the hours back.
    await makeUsageDays(store.database.db, hourlyFrom);
    const raised = await read({ groups: ["hour"] });
    expect(raised.hourlyFrom).toBe(hourlyFrom);
    expect(raised.rows).toEqual(hours?.rows);
  });
});
