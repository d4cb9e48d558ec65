import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Db } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { packLines, packRows, unpackLines } from "../../../src/workflows/rows/pack-rows.ts";
import {
  countStepRows,
  MAX_COLUMNS,
  readRowColumns,
  readStepRows,
} from "../../../src/workflows/rows/read-step-rows.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";
import { insertChunks } from "../../../src/workflows/rows/row-store.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

let database: Database;
let statements = 0;
const ask = <Result>(work: (db: Db) => Promise<Result>) => {
  statements += 1;
  return work(database.db);
};
const place = { day: "2026-11-23", runId: "run_1", stepId: "a", output: "main" };
beforeAll(async () => {
  database = await openTestDatabase();
  await store(
    place,
    Array.from({ length: 2_500 }, (_, n) => ({ n })),
  );
  // A step that resumed stores chunks of any size.
  await store({ ...place, output: "else" }, [{ b: 1, a: 2 }], 4);
  await store({ ...place, output: "else" }, [{ a: 3, c: null }, {}], 9);
});
afterAll(() => database.close());

async function store(at: typeof place, rows: readonly Row[], first = 0): Promise<void> {
  let number = first;
  for await (const chunk of packRows(rows)) {
    await insertChunks(database.db, at, [chunk], number);
    number += 1;
  }
}

async function read(output: string, offset: number, limit?: number): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of readStepRows(ask, { ...place, output }, { offset, limit }))
    rows.push(row);
  return rows;
}

describe("rows of a step", () => {
  test.each([
    [0, 3, [0, 1, 2]],
    [998, 4, [998, 999, 1000, 1001]],
    [1_000, 1, [1_000]],
    [2_498, 100, [2_498, 2_499]],
    [2_500, 10, []],
    [9_999, 10, []],
    [5, 0, []],
  ])("from %i, %i of them", async (offset, limit, expected) => {
    expect((await read("main", offset, limit)).map(({ n }) => n)).toEqual(expected);
  });

  test("all of them, in their order", async () => {
    const rows = await read("main", 0);
    expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 2_500 }, (_, n) => n));
  });

  test("chunks before the first row and behind the last one are not read", async () => {
    statements = 0;
    await read("main", 2_400, 10);
    expect(statements).toBe(2);
  });

  test("chunks whose numbers have gaps follow one another", async () => {
    expect(await read("else", 1)).toEqual([{ a: 3, c: null }, {}]);
    expect(await countStepRows(database.db, { ...place, output: "else" })).toMatchObject({
      rows: 3,
    });
  });

  test("an output that does not exist has no rows", async () => {
    expect(await read("errors", 0)).toEqual([]);
    expect(await countStepRows(database.db, { ...place, output: "errors" })).toEqual({
      rows: 0,
      bytes: 0,
    });
  });

  test("columns are those of all rows, in the order in which they appear", async () => {
    const columns = await readRowColumns(ask, { ...place, output: "else" }, { offset: 0 });
    expect(columns).toEqual({ names: ["b", "a", "c"], isCut: false });
  });

  test("columns beyond the limit are reported", async () => {
    const wide = Object.fromEntries(
      Array.from({ length: MAX_COLUMNS + 1 }, (_, n) => [`c${n}`, n]),
    );
    await store({ ...place, output: "wide" }, [wide]);
    const columns = await readRowColumns(ask, { ...place, output: "wide" }, { offset: 0 });
    expect([columns.names.length, columns.isCut]).toEqual([MAX_COLUMNS, true]);
  });

  test("lines are packed and unpacked as they are", async () => {
    const lines = ["{}", "", '"ä\\n"'];
    const packed = await packLines(lines);
    expect(await unpackLines(packed)).toEqual(lines);
  });
});
