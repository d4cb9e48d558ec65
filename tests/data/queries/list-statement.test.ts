import { describe, expect, it } from "vitest";
import { readListQuery } from "../../../src/data/queries/list-query.ts";
import { listStatement } from "../../../src/data/queries/list-statement.ts";
import type { SchemaView as View, ViewColumnType } from "../../../src/data/views/data-view.ts";

const COLUMNS: Readonly<Record<string, ViewColumnType>> = {
  day: "date",
  name: "text",
  tokens: "bigint",
  small: "integer",
  cost: "numeric",
  ok: "boolean",
  at: "timestamp with time zone",
  meta: "jsonb",
  limit: "integer",
};
const VIEW: View = {
  ...{ name: "usage", comment: null, key: ["day", "name"], dataset: null },
  columns: Object.entries(COLUMNS).map(([name, type]) => ({
    ...{ name, type, comment: null, nullable: !["day", "name"].includes(name) },
  })),
};
const build = (query: string, page: number | null = null) =>
  listStatement(VIEW, readListQuery(VIEW, new URLSearchParams(query)), {
    page,
    secret: Buffer.alloc(32),
  });

describe("the statement of a list", () => {
  it.each([
    ["select=day,cost", 'select "day", "cost" from data."usage" as "rows"', []],
    ["select=name&limit=20000", 'select "name" from data."usage" as "rows" limit 20000', []],
    [
      "select=name&order=-cost,day",
      'select "name" from data."usage" as "rows" order by "rows"."cost" desc, "rows"."day"',
      [],
    ],
    [
      "select=name&tokens=gte.5&tokens=lt.9&name=like.a%25",
      'select "name" from (select * from data."usage" where "tokens" >= $1::bigint and "tokens" < $2::bigint and "name" like $3::text) as "rows"',
      ["5", "9", "a%"],
    ],
    [
      'select=name&name=in.(a,"b,c","d\\"e",)&ok=is.true&cost=is.not.null',
      'select "name" from (select * from data."usage" where "name" in ($1::text, $2::text, $3::text, $4::text) and "ok" is true and "cost" is not null) as "rows"',
      ["a", "b,c", 'd"e', ""],
    ],
    [
      "select=name&filter.limit=eq.3",
      'select "name" from (select * from data."usage" where "limit" = $1::integer) as "rows"',
      ["3"],
    ],
    [
      "group=day&select=day,sum(cost),count(*)&order=-sum(cost)",
      'select "day", "_a1", "_a2" from (select "day", pg_catalog.sum("cost") as "_a1", pg_catalog.count(*) as "_a2" from data."usage" group by "day") as "rows" order by "rows"."_a1" desc',
      [],
    ],
  ])("of %s", (query, sql, values) => {
    const names = query.match(/select=([^&]*)/)?.[1]?.split(",");
    expect(build(query)).toEqual({ sql, values, names, paging: null });
  });

  it("orders a page by the key, and asks for one row more", () => {
    const { sql, paging } = build("select=cost&order=-cost", 10);
    expect(sql).toBe(
      'select "cost", "cost"::text as "_0", "day"::text as "_1", "name"::text as "_2" from data."usage" as "rows" order by "rows"."cost" desc, "rows"."day" desc, "rows"."name" desc limit 11',
    );
    expect(paging?.columns).toBe(3);
  });

  it("refuses the place of another aggregate, whatever the statement calls it", () => {
    const { paging } = build("select=sum(cost)&group=day&order=sum(cost)", 10);
    const other = build("select=sum(tokens)&group=day&order=sum(tokens)", 10);
    expect(other.paging?.key).not.toBe(paging?.key);
    const same = build("select=count(*),sum(cost)&group=day&order=sum(cost)", 10);
    expect(same.paging?.key).toBe(paging?.key);
  });

  it.each([
    ["select=nothing", "select"],
    ['select=day"', "select"],
    ["select=day,day", "select"],
    ["select=day,sum(cost)", "select"],
    ["select=sum(name)", "select"],
    ["select=max(meta)", "select"],
    ["select=pg_sleep(cost)", "select"],
    ["group=nothing", "group"],
    ["group=day&select=name", "select"],
    ["group=day&order=name", "order"],
    ["order=day;drop", "order"],
    ["order=day,-day", "order"],
    ["limit=0", "limit"],
    ["limit=-1", "limit"],
    ["limit=1e3", "limit"],
    ["limit=1&limit=2", "limit"],
    ["format=xml", "format"],
    ["spreadsheet=yes", "spreadsheet"],
    ["after=x", "after"],
    ["nothing=eq.1", "nothing"],
    ["name=a", "name"],
    ["name=regex.a", "name"],
    ["name=constructor.a", "name"],
    ["name=is.true", "name"],
    ["name=like.a%5C", "name"],
    ["tokens=like.a", "tokens"],
    ["tokens=eq.1;drop", "tokens"],
    ["tokens=eq.9223372036854775808", "tokens"],
    ["tokens=eq.", "tokens"],
    ["small=eq.2147483648", "small"],
    ["tokens=in.()", "tokens"],
    ["tokens=in.(1,2", "tokens"],
    ['name=in.("a"b)', "name"],
    ["name=eq.%00", "name"],
    ["day=eq.2026-02-30", "day"],
    ["at=gt.yesterday", "at"],
    ["ok=eq.maybe", "ok"],
    ["meta=eq.{", "meta"],
    ["filter.nothing=eq.1", "filter.nothing"],
  ])("refuses %s and names %s", (query, param) => {
    let thrown: unknown;
    try {
      build(query);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: "invalid_value", param });
  });
});
