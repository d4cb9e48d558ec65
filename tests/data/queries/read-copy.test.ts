import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { FeedRequest } from "../../../src/data/copy/copy-messages.ts";
import { type CopyFeed, openCopyFeed } from "../../../src/data/copy/open-copy-feed.ts";
import { type CopyEngine, openCopyEngine } from "../../../src/data/port/copy/copy-engine.ts";
import { createTextCheck } from "../../../src/data/port/gate/check-text.ts";
import {
  createStatementReader,
  type StatementReader,
} from "../../../src/data/port/queries/read-statement.ts";
import type { DataProcess } from "../../../src/data/process/data-process.ts";
import type { ReadRequest } from "../../../src/data/process/process-messages.ts";
import { type DataReads, readList, readStatement } from "../../../src/data/queries/read-data.ts";
import type { BuiltInView } from "../../../src/data/views/data-view.ts";
import { BUILT_IN_VIEWS } from "../../../src/data/views/registry.ts";
import type { Database } from "../../../src/db/database.ts";
import { createLog } from "../../../src/lib/log.ts";
import { PRINCIPAL, textOf } from "../../support/data/read-stage.ts";
import { emptyArchive } from "../../support/servers/databases/prepared-database.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

/** A table of the gateway's database that is copied as a whole, with these columns. */
const made = (name: string, ...columns: string[]): BuiltInView => ({
  ...{ name, comment: null, key: ["id"], copied: { kind: "whole" }, extent: "select 1" },
  columns: ["id", ...columns].map((column) => ({
    ...{ name: column, type: "text", comment: null, nullable: column !== "id" },
  })),
  select: `select ${["id", ...columns].join(", ")} from made_rows`,
});
const things = made("things");

let database: Database;
let engine: CopyEngine;
let reader: StatementReader;
let feed: CopyFeed;
let reads: DataReads;
let now = 1_790_000_000_000;
let views: readonly BuiltInView[];
let sent: FeedRequest[] = [];
let read = 0;
let failAt: ((request: FeedRequest) => boolean) | undefined;
let beforeRead: (() => Promise<unknown>) | undefined;

/** What the data process answers, in this process. */
const request: DataProcess["request"] = async (path, body, signal) => {
  if (path === "/read") return answerRead(body as ReadRequest, signal);
  const asked = body as FeedRequest;
  if (failAt?.(asked) === true) throw new Error("killed");
  sent.push(asked);
  return toAnswer(200, [Buffer.from(JSON.stringify(await engine.applyFeed(asked)))]);
};
async function answerRead(asked: ReadRequest, signal: AbortSignal) {
  read += 1;
  await beforeRead?.();
  const answer = await reader.read(asked, signal);
  if (answer.failure === undefined) return toAnswer(200, answer.body);
  return toAnswer(422, [Buffer.from(JSON.stringify(answer.failure))]);
}
function toAnswer(status: number, chunks: AsyncIterable<Buffer> | Buffer[]) {
  const body = (async function* () {
    yield* chunks;
  })();
  return { status, headers: {}, body };
}

beforeAll(async () => {
  database = await openTestDatabase();
  await database.db.execute(sql`create table made_rows (id text, note text)`);
  await database.db.execute(sql`insert into made_rows values ('a', 'first'), ('b', null)`);
  const control = {
    ...{ exitForTurn: () => undefined, log: () => undefined },
    ...{ statement: () => undefined, onEnd: () => undefined },
  };
  engine = openCopyEngine({ folder: null, archive: await emptyArchive() }, { control });
  reader = createStatementReader({ engine, checkText: createTextCheck(), control });
  views = [...BUILT_IN_VIEWS, things];
  const listViews = async () => views.map((view) => ({ ...view, dataset: null }));
  feed = openCopyFeed({
    ...{ database, clock: { now: () => now }, log: createLog("silent"), identity: "one" },
    dataProcess: { request, isRunning: () => true, onStarted: () => undefined },
    listViews: async () => views,
  });
  reads = {
    ...{ process: { request }, listViews, asOf: feed.asOf, copy: feed },
    readExtents: async () => new Map(),
    placeSecret: Buffer.alloc(32, 7),
  };
  await feed.firstCopy();
}, 60_000);
afterAll(async () => {
  reader?.close();
  await feed?.close?.(0);
  await engine?.close();
  await database?.close();
});
beforeEach(() => {
  now += 1_000;
  failAt = undefined;
  beforeRead = undefined;
  sent = [];
  read = 0;
});

const principal = () => ({ ...PRINCIPAL, views: views.map(({ name }) => name) });
const list = async (name: string, query = "") => {
  const asked = { name, parameters: new URLSearchParams(query), accepted: "json" as const };
  const admitted = { principal: principal(), login: null };
  const { asOf, body } = await readList(reads, admitted, asked, new AbortController().signal);
  return { asOf, data: JSON.parse(await textOf(body)).data };
};
const query = async (text: string, as = principal()) => {
  const asked = {
    sql: text,
    values: [],
    maxRows: null,
    format: "json",
    spreadsheet: false,
  } as const;
  const admitted = { principal: as, login: null };
  const { asOf, body } = await readStatement(reads, admitted, asked, new AbortController().signal);
  return { asOf, data: JSON.parse(await textOf(body)).data };
};
const rounds = () => sent.filter(({ type }) => type === "begin").length;
/** The rows of this view never become visible. */
const without = (name: string) => (asked: FeedRequest) =>
  asked.type === "apply" && asked.view === name;
const BEING_MADE = { code: "storage_unavailable", retryAfterSeconds: expect.any(Number) };

describe("a read of the embedded copy", () => {
  it("by a query waits for tables that are not copied yet, and for nothing else", async () => {
    views = [...views, made("early"), made("late", "note")];
    const text = 'select count(*) as n, max(late.note) as note from early, data."late" as late';
    expect(await query(text)).toEqual({ asOf: now, data: [{ n: 4, note: "first" }] });
    expect([rounds(), read]).toEqual([1, 2]);
  });

  it("by a query is refused with Retry-After when its table is not copied in time", async () => {
    views = [...views, made("never")];
    failAt = without("never");
    await expect(query("select id from never")).rejects.toMatchObject(BEING_MADE);
    expect(rounds()).toBe(1);
  });

  it("by a query does not tell that there is a table for others", async () => {
    const all = views;
    const seen = principal();
    views = [...views, made("secret", "note")];
    expect(await query("select note from secret")).toMatchObject({ data: expect.any(Array) });
    for (const text of ["select noted from NAME", "select x.* from data.NAME as x"]) {
      const [hidden, none] = await Promise.all(
        ["secret", "nothing"].map(async (name) => {
          const error = await query(text.replace("NAME", name), seen).catch((thrown) => thrown);
          return { ...error, message: error.message.replaceAll(name, "NAME") };
        }),
      );
      expect(hidden).toMatchObject({ ext: { sqlstate: "42P01" } });
      expect(hidden).toEqual(none);
    }
    views = all;
  });

  it.each([
    ["select id from nothing", "42P01"],
    ["select things.id from things, nothing", "42P01"],
    ["select things.id from things as renamed", "42P01"],
    ["select never.id from things", "42P01"],
    ["select things.nothing from things", "42703"],
  ])("by a query is refused at once where it is wrong: %s", async (text, sqlstate) => {
    await expect(query(text)).rejects.toMatchObject({ code: "invalid_value", ext: { sqlstate } });
    expect([rounds(), read]).toEqual([0, 1]);
  });

  it("by a list waits for a column that its table has since", async () => {
    const notes = made("notes");
    views = [...BUILT_IN_VIEWS, things, notes];
    expect((await list("notes")).data).toEqual([{ id: "a" }, { id: "b" }]);
    now += 1_000;
    views = [...BUILT_IN_VIEWS, things, made("notes", "note")];
    expect(await list("notes", "note=eq.first&select=note")).toEqual({
      asOf: now,
      data: [{ note: "first" }],
    });
    expect(rounds()).toBe(2);
    views = [...BUILT_IN_VIEWS, things, made("notes", "note", "id2")];
    failAt = ({ type }) => type === "begin";
    await expect(list("notes")).rejects.toMatchObject(BEING_MADE);
    sent = [];
    const unknown = list("things", "nothing=eq.1");
    await expect(unknown).rejects.toMatchObject({ code: "invalid_value" });
    expect(rounds()).toBe(0);
  });

  it("by a query has the time of the oldest table that it may read", async () => {
    views = [...BUILT_IN_VIEWS, things];
    await feed.renewed(["things"]);
    const before = now;
    now += 1_000;
    await database.db.execute(sql`insert into made_rows values ('c', 'not copied')`);
    failAt = without("things");
    await feed.renewed(BUILT_IN_VIEWS.map(({ name }) => name));
    expect(await query("select count(*) as n from things")).toEqual({
      asOf: before,
      data: [{ n: 2 }],
    });
  });

  it("by a list is refused with Retry-After when its table is gone again before it is read", async () => {
    views = [...BUILT_IN_VIEWS, things];
    await feed.renewed(["things"]);
    const [begun] = sent.filter((asked) => asked.type === "begin");
    const removal = { ...begun, views: [] } as FeedRequest;
    beforeRead = () => engine.applyFeed(removal);
    await expect(list("things")).rejects.toMatchObject(BEING_MADE);
    expect(read).toBe(2);
    // A dataset that was deleted meanwhile.
    beforeRead = async () => {
      await engine.applyFeed(removal);
      views = [...BUILT_IN_VIEWS];
    };
    await expect(list("things")).rejects.toMatchObject({ code: "not_found" });
  });
});
