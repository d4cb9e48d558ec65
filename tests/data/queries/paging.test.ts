import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { admitted, type DataReads, readList } from "../../../src/data/queries/read-data.ts";
import type { SchemaView as View, ViewColumnType } from "../../../src/data/views/data-view.ts";
import { openReadStage, PRINCIPAL, textOf } from "../../support/data/read-stage.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { createDatabase, type OwnDatabase } from "../../support/servers/databases/test-database.ts";

const ROWS = 157;
const TYPES: Readonly<Record<string, ViewColumnType>> = {
  id: "bigint",
  t: "text",
  i: "integer",
  n: "numeric",
  f: "double precision",
  b: "boolean",
  d: "date",
  at: "timestamp with time zone",
  j: "jsonb",
};
const view = (name: string, key: readonly string[]): View => ({
  ...{ name, key, comment: null, dataset: null },
  columns: Object.entries(TYPES).map(([column, type]) => ({
    ...{ name: column, type, comment: null, nullable: column !== "id" },
  })),
});
/** Columns of 63 characters, which an aggregate makes too long for a name of the database. */
const LONG = ["a", "b"].map((end) => `${"long_".repeat(12)}xx${end}`);
const wide: View = {
  ...{ name: "wide", key: ["id"], comment: null, dataset: null },
  columns: ["id", ...LONG].map((column) => ({
    ...{ name: column, type: "bigint", comment: null, nullable: false },
  })),
};
const VIEWS = [view("things", ["id"]), view("loose", []), wide];

/** Numbers from 0 to 1, the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

describe.skipIf(databaseServerUrl === undefined)("pages of a list", () => {
  let database: OwnDatabase;
  let stage: Awaited<ReturnType<typeof openReadStage>>;
  let sql: postgres.Sql;
  let reads: DataReads;

  beforeAll(async () => {
    database = await createDatabase(databaseServerUrl ?? "");
    sql = postgres(database.url, { max: 1, onnotice: () => undefined });
    await sql.unsafe(`create schema data;
      create table data.things (id bigint primary key, t text, i integer, n numeric, f double precision, b boolean,
        d date, at timestamptz, j jsonb);
      select setseed(0.3);
      insert into data.things select k,
        (array['a', 'A', 'ä', '', ' x', 'b"c', 'z,z', null, E'l\\nm'])[1 + floor(random() * 9)],
        nullif(floor(random() * 5)::int, 0) - 2,
        (array[1.5, 1.50, 'NaN', null, -3, 12345678901234567890.123])[1 + floor(random() * 6)]::numeric,
        (array['0.1', '-0', '0', 'NaN', 'Infinity', '-Infinity', null, '1e-300', '0.30000000000000004'])[1 + floor(random() * 9)]::float8,
        (array[true, false, null])[1 + floor(random() * 3)],
        date '2026-01-01' + floor(random() * 5)::int,
        (array['2026-01-01 00:00:00.123456Z', '2026-01-01 00:00:00.123457Z', 'infinity', null, '2026-01-01Z'])[1 + floor(random() * 5)]::timestamptz,
        (array['1', '"a"', '{"a": [1, null]}', null, 'null'])[1 + floor(random() * 5)]::jsonb
      from generate_series(1, ${ROWS}) as k;
      create view data.loose as select id % 20 as id, t, i, null::numeric as n, null::float8 as f, b, null::date as d,
        null::timestamptz as at, null::jsonb as j from data.things;
      create view data.wide as select id, id % 7 as ${LONG[0]}, id as ${LONG[1]} from data.things`);
    stage = await openReadStage(database.url);
    reads = {
      process: stage.process,
      listViews: async () => VIEWS,
      readExtents: async () => new Map(),
      asOf: async () => 1_790_000_000_000,
      copy: null,
      placeSecret: Buffer.alloc(32, 7),
    };
  });
  afterAll(async () => {
    await stage.close();
    await sql.end();
    await database.drop();
  });

  const principal = { ...PRINCIPAL, views: ["things", "loose", "wide"] };
  const list = async (name: string, query: string) => {
    const admission = admitted({ principal, login: { url: "postgres://unused" } });
    const asked = { name, parameters: new URLSearchParams(query), accepted: "json" as const };
    const answer = await readList(reads, admission, asked, new AbortController().signal);
    return JSON.parse(await textOf(answer.body));
  };
  const pages = async (name: string, query: string, limit: number) => {
    const rows: object[] = [];
    let after = "";
    for (let count = 0; count <= ROWS; count += 1) {
      const page = await list(name, `${query}&limit=${limit}${after}`);
      rows.push(...page.data);
      if (!page.has_more) {
        expect(page.next).toBeNull();
        return rows;
      }
      expect(page.data).toHaveLength(limit);
      after = `&after=${page.next}`;
    }
    throw new Error("the pages do not end");
  };

  it("together are the whole, in its order, for random orders, filters and sizes", async () => {
    const next = numbers(42);
    const pick = <Item>(items: readonly Item[]) => items[Math.floor(next() * items.length)] as Item;
    for (let trial = 0; trial < 40; trial += 1) {
      const name = pick(["things", "loose"]);
      const columns = Object.keys(TYPES).filter(() => next() < 0.3);
      const order = columns.sort(() => next() - 0.5).map((column) => pick(["", "-"]) + column);
      const filter = pick([
        "",
        "&b=is.true",
        "&i=gte.-1&i=lt.2",
        '&t=in.(a,A,"z,z","b\\"c")',
        "&t=not.null".replace("t=", "t=is."),
      ]);
      const query = `order=${order.join(",")}${filter.replaceAll("+", "%2B")}`;
      const whole = (await list(name, `${query}&limit=10000`)).data;
      const paged = await pages(name, query, 1 + Math.floor(next() * 40));
      expect(paged, `${name}?${query}`).toEqual(whole);
    }
  });

  it("together are the whole of groups too", async () => {
    for (const order of [
      "",
      "&order=-sum(i),t",
      "&order=avg(n)",
      "&order=-count(*)",
      "&order=max(at),-t",
    ]) {
      const query = `group=t,b&select=t,sum(i),avg(n),count(*),count(f),max(at)${order}`;
      const whole = (await list("things", `${query}&limit=10000`)).data;
      expect(whole.length).toBeGreaterThan(10);
      expect(await pages("things", query, 4)).toEqual(whole);
    }
    const [counted] = await sql.unsafe("select count(*)::int as rows from data.things where b");
    expect((await list("things", "select=count(*)&b=is.true")).data).toEqual([
      { "count(*)": counted?.["rows"] },
    ]);
  });

  it("have aggregates of columns with long names under the names that were asked for", async () => {
    const [key = "", value = ""] = LONG;
    const [sum, most] = [`sum(${value})`, `max(${value})`];
    const query = `group=${key}&select=${key},${sum},${most}&order=-${sum}`;
    const whole = (await list("wide", query)).data;
    expect(whole).toHaveLength(7);
    expect(Object.keys(whole[0])).toEqual([key, sum, most]);
    expect(await pages("wide", query, 2)).toEqual(whole);
    expect(await pages("wide", `group=${key}&select=${sum}&order=${sum}`, 3)).toEqual(
      whole.map((row: Record<string, string>) => ({ [sum]: row[sum] })).reverse(),
    );
  });

  it("keep to the list that they belong to", async () => {
    const { next } = await list("things", "order=-d&limit=5&b=is.true");
    const ok = await list("things", `order=-d&limit=5&b=is.true&select=id&after=${next}`);
    expect(ok.data).toHaveLength(5);
    for (const query of [
      "order=d&b=is.true",
      "order=-d",
      "order=-d&b=is.false",
      "order=-d,t&b=is.true",
    ]) {
      await expect(list("things", `${query}&after=${next}`)).rejects.toMatchObject({
        code: "invalid_value",
        param: "after",
      });
    }
    const place = Buffer.from(JSON.stringify(["2026-01-01", "5"])).toString("base64url");
    for (const after of [place, `${place}.${next.split(".")[1]}`, "x", `${next}x`, `x${next}`]) {
      await expect(list("things", `order=-d&b=is.true&after=${after}`)).rejects.toMatchObject({
        param: "after",
      });
    }
  });

  it("take values as parameters, whatever they contain", async () => {
    const nasty = `'); drop view data.loose; --`;
    const found = await list("things", `t=eq.${encodeURIComponent(nasty)}`);
    expect(found.data).toEqual([]);
    expect((await list("loose", "limit=1")).data).toHaveLength(1);
    expect((await list("things", "id=eq.3&select=id")).data).toEqual([{ id: 3 }]);
    expect((await list("things", "t=ilike.A&select=t&limit=1")).data[0].t).toMatch(/^a$/i);
    expect(
      (await list("things", "at=gt.2026-01-01T00:00:00.123456Z&at=lt.2026-02-01&select=at&limit=1"))
        .data,
    ).toEqual([{ at: "2026-01-01T00:00:00.123457Z" }]);
  });
});
