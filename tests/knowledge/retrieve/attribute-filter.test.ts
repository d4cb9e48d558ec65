import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AttributeFilter } from "../../../src/core/file-search.ts";
import type { Database } from "../../../src/db/database.ts";
import type { FileAttributes } from "../../../src/db/tables/knowledge.ts";
import { filterSql, passesFilter } from "../../../src/knowledge/retrieve/attribute-filter.ts";
import { createRandom } from "../../support/faults/random.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

const TRIALS = 150;
const FILES = 60;

let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

const random = createRandom(99);
const pick = <Value>(values: readonly Value[]): Value =>
  values[Math.floor(random() * values.length)] as Value;
const KEYS = ["year", "owner", "it's", 'quoted "key"', "日本", "absent"];
const NUMBERS = [0, -1, 1, 1.5, 2024, 1e21, 0.1, -0.30000000000000004];
const TEXTS = ["", "a", "B", "b", "ä", "z", "1", "true", "😀", "\uffff", "it's", "\\"];
const COMPARISONS = ["eq", "ne", "gt", "gte", "lt", "lte"] as const;

const randomValue = () =>
  pick<string | number | boolean>([pick(NUMBERS), pick(TEXTS), true, false]);

function randomAttributes(): FileAttributes {
  const keys = KEYS.filter((key) => key !== "absent" && random() < 0.6);
  return Object.fromEntries(keys.map((key) => [key, randomValue()]));
}

function randomFilter(depth: number): AttributeFilter {
  const kind = random();
  if (depth > 0 && kind < 0.4) {
    const filters = Array.from({ length: Math.floor(random() * 4) }, () => randomFilter(depth - 1));
    return { type: pick(["and", "or"]), filters };
  }
  const key = pick(KEYS);
  if (kind < 0.6) {
    const value = Array.from({ length: Math.floor(random() * 4) }, () =>
      pick([pick(NUMBERS), pick(TEXTS)]),
    );
    return { type: pick(["in", "nin"]), key, value };
  }
  return { type: pick(COMPARISONS), key, value: randomValue() };
}

describe("A filter of attributes", () => {
  test("passes the same files in memory and in the database", async () => {
    const files = Array.from({ length: FILES }, randomAttributes);
    for (let trial = 0; trial < TRIALS; trial += 1) {
      const filter = randomFilter(3);
      const rows = await database.db.execute<{ passes: boolean }>(sql`
        select ${filterSql(sql`file.value`, filter)} as passes
        from jsonb_array_elements(${JSON.stringify(files)}::jsonb) with ordinality as file(value, place)
        order by place`);
      const inMemory = files.map((attributes) => passesFilter(attributes, filter));
      expect(
        rows.map(({ passes }) => passes),
        JSON.stringify(filter),
      ).toEqual(inMemory);
    }
  });

  test.each<readonly [string, AttributeFilter]>([
    ["a value", { type: "eq", key: "year", value: 2024 }],
    ["one of several", { type: "in", key: "owner", value: ["ann", "bob"] }],
    [
      "one of two attributes",
      {
        type: "or",
        filters: [
          { type: "eq", key: "year", value: 2024 },
          { type: "eq", key: "owner", value: "ann" },
        ],
      },
    ],
  ])("finds the files with %s by the index", async (_, filter) => {
    const plan = await database.db.transaction(async (transaction) => {
      await transaction.execute(sql`set local enable_seqscan = off`);
      return transaction.execute<{ "QUERY PLAN": string }>(
        sql`explain select file_id from vector_store_files where ${filterSql(sql`attributes`, filter)}`,
      );
    });
    const lines = plan.map((row) => row["QUERY PLAN"]);
    expect(lines.join("\n")).toContain("vector_store_files_attributes_index");
  });

  test("of many values passes the same files", async () => {
    const value = Array.from({ length: 200 }, (_, year) => 1_900 + year);
    const filter = { type: "in", key: "year", value } as const;
    const [row] = await database.db.execute<{ found: boolean; other: boolean }>(sql`
      select ${filterSql(sql`'{"year": 2024}'::jsonb`, filter)} as found,
        ${filterSql(sql`'{"year": 2124}'::jsonb`, filter)} as other`);
    expect(row).toEqual({ found: true, other: false });
  });

  test.each<readonly [string, AttributeFilter, boolean]>([
    ["equal values", { type: "eq", key: "year", value: 2024 }, true],
    ["no equality of a number and its text", { type: "eq", key: "year", value: "2024" }, false],
    ["an absent attribute for ne", { type: "ne", key: "absent", value: 1 }, true],
    ["no absent attribute for eq", { type: "eq", key: "absent", value: 1 }, false],
    ["a listed value", { type: "in", key: "owner", value: ["ann", "bob"] }, true],
    ["no excluded value", { type: "nin", key: "owner", value: ["ann"] }, false],
    ["an absent attribute for nin", { type: "nin", key: "absent", value: ["ann"] }, true],
    ["an ordered text", { type: "gt", key: "owner", value: "Zoe" }, true],
    ["no order between types", { type: "gt", key: "owner", value: 1 }, false],
    ["no order of booleans", { type: "gte", key: "flag", value: true }, false],
    ["no inherited property", { type: "ne", key: "constructor", value: "x" }, true],
  ])("knows %s", (_, filter, passes) => {
    expect(passesFilter({ year: 2024, owner: "ann", flag: true }, filter)).toBe(passes);
  });
});
