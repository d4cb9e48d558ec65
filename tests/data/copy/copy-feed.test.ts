import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { FeedRequest } from "../../../src/data/copy/copy-messages.ts";
import type { CopiedView } from "../../../src/data/copy/copy-view.ts";
import { openCopyFeed } from "../../../src/data/copy/open-copy-feed.ts";
import {
  attachPart,
  createDatasetTable,
  createLoadTable,
} from "../../../src/data/datasets/dataset-tables.ts";
import { type CopyEngine, openCopyEngine } from "../../../src/data/port/copy/copy-engine.ts";
import type { DataProcess } from "../../../src/data/process/data-process.ts";
import type {
  BuiltInView,
  SchemaView as View,
  ViewColumn,
} from "../../../src/data/views/data-view.ts";
import type { Database } from "../../../src/db/database.ts";
import { createLog } from "../../../src/lib/log.ts";
import { emptyArchive } from "../../support/servers/databases/prepared-database.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { CopyClient, principal } from "../port/copy/copy-client.ts";

let database: Database;
let folder: string;
let engine: CopyEngine;
let now = 1_000_000;
let sent: FeedRequest[] = [];
let failAt: ((request: FeedRequest) => boolean) | undefined;
let holdAt: ((request: FeedRequest) => Promise<void> | undefined) | undefined;

const column = (name: string, type: ViewColumn["type"]): ViewColumn => ({
  ...{ name, type, comment: `About "${name}", it's said.`, nullable: true },
});
const calls: BuiltInView = {
  name: "calls",
  comment: "Calls.",
  columns: [
    column("at", "timestamp with time zone"),
    column("id", "text"),
    column("cost", "numeric"),
    column("score", "double precision"),
    column("tags", "jsonb"),
    column("is_ok", "boolean"),
  ],
  key: ["at", "id"],
  select: "select at, id, cost, score, tags, is_ok from made_calls",
  extent: "select 1",
  copied: {
    kind: "days",
    day: "(at at time zone 'UTC')::date",
    ofDay: "(at at time zone 'UTC')::date = $1",
    fingerprints:
      "select (at at time zone 'UTC')::date as day, count(*)::text as fingerprint from made_calls group by 1",
  },
};
const people: BuiltInView = {
  name: "people",
  comment: null,
  columns: [column("id", "text"), column("name", "text")],
  key: ["id"],
  select: "select id, name from made_people",
  extent: "select 1",
  copied: { kind: "whole" },
};
const dataset = {
  id: "ds_1",
  ownerId: null,
  visibility: "everyone",
  rows: 0,
  updatedAt: 0,
} as const;
const sheet = (tableName: string, version: number): View => ({
  name: 'Sheet "one"',
  comment: "A dataset.",
  columns: [column("a", "bigint"), column("b", "text")],
  key: [],
  dataset: { ...dataset, tableName, version },
});
let views: CopiedView[] = [calls, people];

const open = async () => {
  const control = { exitForTurn: () => undefined, log: () => undefined };
  return openCopyEngine({ folder, archive: await emptyArchive() }, { control, firstCopyMs: 50 });
};
const feedOf = (identity = "one") => {
  const request: DataProcess["request"] = async (_path, body) => {
    const request = JSON.parse(JSON.stringify(body)) as FeedRequest;
    if (failAt?.(request) === true) throw new Error("killed");
    await holdAt?.(request);
    sent.push(request);
    const answer = JSON.stringify(await engine.applyFeed(request));
    const bytes = async function* () {
      yield Buffer.from(answer);
    };
    return { status: 200, headers: {}, body: bytes() };
  };
  const dataProcess = { request, isRunning: () => true, onStarted: () => undefined };
  const parts = { database, dataProcess, clock: { now: () => now }, log: createLog("error") };
  return openCopyFeed({ ...parts, identity, listViews: async () => views });
};
const run = async (feed: ReturnType<typeof feedOf>) => {
  sent = [];
  feed.used();
  for (const job of feed.jobs ?? []) await job.run();
};
const readAll = async (text: string) => {
  const names = views.map(({ name }) => name);
  const client = await CopyClient.open(engine, principal("bik_all", { views: names }));
  const rows = await client.rows(text);
  client.session.close();
  return rows;
};
const write = (text: string) => database.db.execute(sql.raw(text));
const applied = () => sent.flatMap((request) => (request.type === "apply" ? [request.view] : []));

beforeAll(async () => {
  database = await openTestDatabase();
  folder = join(await mkdtemp(join(tmpdir(), "copy-")), "bi");
  engine = await open();
  await write(
    "create table made_calls (at timestamptz, id text, cost numeric, score double precision, tags jsonb, is_ok boolean)",
  );
  await write("create index on made_calls (at, id)");
  await write(
    `insert into made_calls select '2026-01-01 12:00:00.123+00'::timestamptz + g * interval '3 minutes', 'c"' || g, g / 7.0, g / 3.0, '{"a": "x,\\"y"}', null from generate_series(1, 1500) g`,
  );
  await write("create table made_people (id text, name text)");
  await write(
    `insert into made_people values ('u1', 'Ännchen'), ('u2', ''), ('u3', null), ('u4', 'it''s {"a"}\\')`,
  );
}, 60_000);
afterAll(async () => {
  await engine?.close();
  await database?.close();
  await rm(join(folder, ".."), { recursive: true, force: true });
});
beforeEach(() => {
  failAt = undefined;
  now += 1_000;
});

const same = async (text: string, original: string) => {
  const rows = await database.db.execute<{ list: string }>(
    sql.raw(`select coalesce(json_agg(t)::text, '') as list from (${original}) t`),
  );
  expect(await readAll(`select coalesce(json_agg(t)::text, '') from (${text}) t`)).toEqual([
    [rows[0]?.list],
  ]);
};
const isSame = async () => {
  await same("select * from calls order by at, id", "select * from made_calls order by at, id");
  await same("select * from people order by id", "select * from made_people order by id");
};

describe("the feeding of the embedded copy", () => {
  test("lets nobody read before the first copy is whole", async () => {
    await expect(readAll("select 1")).rejects.toMatchObject({ code: "57P03" });
    const feed = feedOf();
    feed.used();
    await feed.firstCopy();
    await isSame();
    expect(await feed.asOf(["calls"])).toBe(now);
    expect(await readAll("select obj_description('data.calls'::regclass)")).toEqual([["Calls."]]);
    expect(await readAll("show data.as_of")).toEqual([[new Date(now).toISOString()]]);
  });

  test("reads one day after the other from the beginning, for to plan over all of them takes long", async () => {
    const daysOf = (request: FeedRequest): readonly string[] => {
      if (request.type !== "rows" || request.view !== "calls") return [];
      return [...new Set(request.rows.match(/2026-01-\d\d/g))];
    };
    const batches = sent.map(daysOf).filter((days) => days.length > 0);
    expect(new Set(batches.flat()).size).toBe(4);
    expect(batches.filter((days) => days.length > 1)).toEqual([]);
  });

  test("brings new rows of a day, late ones of old days, and what retention removed, and nothing else", async () => {
    const feed = feedOf();
    await run(feed);
    expect(applied()).toEqual([]);
    await write(
      "insert into made_calls values ('2026-01-04 23:59:59+00', 'new', null, null), ('2026-01-01 12:00:30+00', 'late', 'NaN', 'Infinity')",
    );
    await write("delete from made_calls where (at at time zone 'UTC')::date = '2026-01-02'");
    await write("update made_people set name = 'Bea' where id = 'u2'");
    await run(feed);
    expect(applied()).toEqual(["calls", "calls", "calls", "people"]);
    await isSame();
    expect(await feed.asOf(["calls"])).toBe(now);
  });

  test("goes on in a process that started again, after a round that was interrupted", async () => {
    await write("insert into made_calls values ('2026-01-04 01:00:00+00', 'more')");
    let isKilled = false;
    failAt = ({ type }) => {
      isKilled ||= type === "apply";
      return isKilled;
    };
    const feed = feedOf();
    await expect(run(feed)).rejects.toThrow("killed");
    await engine.close();
    engine = await open();
    failAt = undefined;
    await run(feed);
    expect(applied()).toEqual(["calls"]);
    await isSame();
  });

  test("follows a dataset by its versions, and another table of it as a whole", async () => {
    const shape = {
      columns: [
        { name: "a", type: "integer" },
        { name: "b", type: "text" },
      ] as const,
      key: [],
    };
    await createDatasetTable(database.db, "sheet_1", shape);
    await write(
      "insert into datasets.sheet_1 select 1, g, null, g, 'b' || g from generate_series(1, 700) g",
    );
    views = [calls, people, sheet("sheet_1", 1)];
    const feed = feedOf();
    await run(feed);
    const all = `select * from "Sheet ""one""" order by a, b`;
    const now = "select a, b from datasets.sheet_1 where _gone is null order by a, b";
    await same(all, now);
    await write("insert into datasets.sheet_1 values (2, 1, null, 5000, 'appended')");
    await write("update datasets.sheet_1 set _gone = 3 where a % 2 = 0 and _load = 1");
    await write("insert into datasets.sheet_1 values (3, 1, null, 2, 'upserted')");
    views = [calls, people, sheet("sheet_1", 3)];
    await run(feed);
    const texts = sent.flatMap((request) => (request.type === "rows" ? [request.rows] : []));
    expect(texts.join()).toContain("appended");
    expect(texts.join()).not.toContain("b699");
    await same(all, now);
    await createDatasetTable(database.db, "sheet_2", shape);
    await write("insert into datasets.sheet_2 values (4, 1, null, 1, 'replaced')");
    views = [calls, people, sheet("sheet_2", 4)];
    await run(feed);
    expect(await readAll(all)).toEqual([["1", "replaced"]]);
    views = [calls, people];
    await run(feed);
    expect(await readAll(all)).toBe("42P01");
  });

  test("shows no view before all its rows are there, nor one that changes its columns", async () => {
    const other: BuiltInView = { ...people, name: "others" };
    const all = "select id, name from others order by id";
    views = [calls, people, other];
    const feed = feedOf();
    /** The rows have come, and the request that shows them does not. */
    const half = async () => {
      failAt = (request) => request.type === "apply" && request.view === "others";
      await expect(run(feed)).rejects.toThrow("killed");
      expect(await readAll(all)).toBe("42P01");
    };
    await half();
    failAt = undefined;
    // Waits for the round that brings it.
    expect(await feed.asOf(["others"])).toBe(now);
    await same(all, "select id, name from made_people order by id");
    // The rest of that round.
    await run(feed);
    const changed = {
      ...other,
      columns: [column("id", "text")],
      select: "select id from made_people",
    };
    views = [calls, people, changed];
    await half();
    await expect(feed.asOf(["others"])).rejects.toMatchObject({
      code: "storage_unavailable",
      retryAfterSeconds: expect.any(Number),
    });
    failAt = undefined;
    expect(await feed.asOf(["others"])).toBe(now);
    await same("select id from others order by id", "select id from made_people order by id");
    expect(await readAll("select obj_description('data.people'::regclass) is null")).toEqual([
      ["t"],
    ]);
    views = [calls, people];
    await run(feed);
  });

  test("never shows the rows of a deleted dataset to the owner of another one of its name", async () => {
    const shape = { columns: [{ name: "a", type: "integer" }] as const, key: [] };
    const salesOf = (id: string, tableName: string): View => ({
      ...sheet(tableName, 1),
      ...{ name: "sales", columns: [column("a", "bigint")] },
      dataset: { ...dataset, id, tableName, version: 1 },
    });
    for (const name of ["sales_1", "sales_2"]) await createDatasetTable(database.db, name, shape);
    await write("insert into datasets.sales_1 values (1, 1, null, 11)");
    await write("insert into datasets.sales_2 values (1, 1, null, 22)");
    views = [calls, people, salesOf("ds_1", "sales_1")];
    const feed = feedOf();
    await run(feed);
    expect(await readAll("select a from sales")).toEqual([["11"]]);
    views = [calls, people, salesOf("ds_2", "sales_2")];
    failAt = (request) => request.type === "apply" && request.view === "sales";
    await expect(run(feed)).rejects.toThrow("killed");
    expect(await readAll("select a from sales")).toBe("42P01");
    failAt = undefined;
    // The time of the one before is not that of the other.
    expect(await feed.asOf(["sales"])).toBe(now);
    expect(await readAll("select a from sales")).toEqual([["22"]]);
    views = [calls, people];
    feed.changed();
    const isGone = async () => (await readAll("select a from sales")) === "42P01";
    await expect.poll(isGone).toBe(true);
    await run(feed);
    await expect(feed.asOf(["sales"])).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  test("keeps no reader waiting for the views after its own", async () => {
    const late: BuiltInView = { ...people, name: "late" };
    const feed = feedOf();
    await run(feed);
    let arrived: () => void = () => undefined;
    const isRead = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    holdAt = (request) =>
      request.type === "discard" && request.view === "late" ? isRead : undefined;
    views = [calls, people, { ...people, name: "early" }, late];
    expect(await feed.asOf(["early"])).toBe(now);
    arrived();
    expect(await feed.asOf(["late"])).toBe(now);
    holdAt = undefined;
    views = [calls, people];
    await run(feed);
  });

  test("lets the first readers after a pause wait for new rows, and gives them the old ones when that takes long", async () => {
    const feed = feedOf();
    await run(feed);
    const pause = () => {
      now += 11 * 60_000;
      sent = [];
      return now;
    };
    pause();
    feed.used();
    expect(await feed.asOf(["people"], ["calls", "not there"])).toBe(now);
    await feed.resumed();
    // Between rounds nobody waits, and nobody begins one.
    const before = now;
    now += 60_000;
    sent = [];
    feed.used();
    expect(await feed.asOf(["people"])).toBe(before);
    expect(sent).toEqual([]);

    pause();
    failAt = ({ type }) => type === "begin";
    feed.used();
    expect(await feed.asOf(["people"])).toBe(before);
    failAt = undefined;

    pause();
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    holdAt = ({ type }) => (type === "begin" ? released : undefined);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    feed.used();
    const waiting = Promise.all([feed.asOf(["people"]), feed.resumed()]);
    await vi.advanceTimersByTimeAsync(5_000);
    vi.useRealTimers();
    expect((await waiting)[0]).toBe(before);
    holdAt = undefined;
    release();
    await run(feed);
    expect(await feed.asOf(["people"])).toBe(now);
  });

  test("reads a dataset's parts each in its own order, and the comment of a view is not its shape", async () => {
    const shape = { columns: [{ name: "a", type: "integer" }] as const, key: [] };
    await createDatasetTable(database.db, "parts_1", shape);
    const load = async (version: number, rows: number) => {
      const part = `parts_1_${version}`;
      await createLoadTable(database.db, part, { ...shape, isUnique: false });
      await write(
        `insert into datasets.${part} select g, null, ${version} * 10000 + g from generate_series(1, ${rows}) g`,
      );
      await attachPart(database.db, { table: "parts_1", part, version });
    };
    const viewed = (version: number, comment: string): View => ({
      ...sheet("parts_1", version),
      ...{ name: "parts", comment, columns: [column("a", "bigint")] },
    });
    await load(1, 900);
    await write("insert into datasets.parts_1 values (2, 1, null, 20001)");
    await load(3, 400);
    views = [calls, people, viewed(3, "Before.")];
    const feed = feedOf();
    await run(feed);
    const isSameHere = () =>
      same("select a from parts", "select a from datasets.parts_1 where _gone is null order by 1");
    await isSameHere();
    await write("update datasets.parts_1 set _gone = 4 where a in (10007, 20001, 30400)");
    await load(5, 3);
    views = [calls, people, viewed(5, "After.")];
    await run(feed);
    expect(applied()).toEqual(["parts"]);
    expect(sent.flatMap((one) => (one.type === "apply" ? [one.remove.kind] : []))).toEqual([
      "gone",
    ]);
    await same(
      "select a from parts order by 1",
      "select a from datasets.parts_1 where _gone is null order by 1",
    );
    expect(await readAll("select obj_description('data.parts'::regclass)")).toEqual([["After."]]);
    views = [calls, people];
    await run(feed);
  });

  test("makes the copy anew for another installation or secret, and where its folder does not open", async () => {
    views = [calls, people];
    await run(feedOf("two"));
    expect(applied()).toEqual(["calls", "people"]);
    await isSame();
    await engine.close();
    await writeFile(join(folder, "global", "pg_control"), "damaged");
    engine = await open();
    await run(feedOf("two"));
    expect(applied()).toEqual(["calls", "people"]);
    await isSame();
  });
});
