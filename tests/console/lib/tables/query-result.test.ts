import { expect, it } from "vitest";
import { readQueryResult } from "../../../../src/console/lib/tables/query-result.ts";

it("reads the sentence, the columns and the rows of a query", () => {
  const text = '2 rows.\n["id","name"]\n[1,"a\\nb"]\n["9007199254740993",null]';
  expect(readQueryResult(text)).toEqual({
    note: "2 rows.",
    columns: ["id", "name"],
    rows: [
      [1, "a\nb"],
      ["9007199254740993", null],
    ],
  });
  expect(readQueryResult('0 rows.\n["id"]')?.rows).toEqual([]);
});

it("leaves a text of another form as it is", () => {
  for (const text of [
    "",
    "no rows",
    "1 row.\nid",
    '1 row.\n["id"]\n[1',
    '1 row.\n["id"]\n{"id":1}',
  ]) {
    expect(readQueryResult(text)).toBeUndefined();
  }
});
