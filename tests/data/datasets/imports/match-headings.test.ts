import { describe, expect, it } from "vitest";
import { checkColumns, toColumnNames } from "../../../../src/data/datasets/columns.ts";
import { HeadingMatch } from "../../../../src/data/datasets/imports/match-headings.ts";
import type { TableField } from "../../../../src/data/datasets/imports/table-job.ts";

/** The columns that a file of these headings makes. */
const madeFrom = (headings: readonly string[]): TableField[] =>
  toColumnNames(headings).map((name, index) => ({
    ...{ name, type: "text", heading: headings[index] as string },
  }));
/** The columns of a dataset whose headings were not kept. */
const named = (...names: readonly string[]): TableField[] =>
  names.map((name) => ({ name, type: "text" }));
const find = (fields: readonly TableField[], headings: readonly string[]) => {
  const match = new HeadingMatch(fields);
  return headings.map((heading) => match.find(heading, 1)?.name);
};

describe("the columns of a file", () => {
  it.each([
    [["id", "Price ($)", "Price (€)"]],
    [["日付", "金額"]],
    [["Price ($)", "Price", "price", "price_2"]],
    [[`1${"x".repeat(70)}a`, `1${"x".repeat(70)}b`]],
    [["x".repeat(63), `${"x".repeat(62)}X`, "x".repeat(64)]],
  ])("are found again by the headings %j and by their names", (headings) => {
    const fields = madeFrom(headings);
    const names = fields.map(({ name }) => name);
    expect(() => checkColumns(fields, [])).not.toThrow();
    expect(find(fields, headings)).toEqual(names);
    expect(find(fields, names)).toEqual(names);
    for (const [index, heading] of headings.entries()) {
      expect(find(fields, [heading])).toEqual([names[index]]);
    }
  });

  it("are those whose names the headings become, where only one can be meant", () => {
    expect(find(named("Order_No", "price"), ["Order No.", "PRICE", "more"])).toEqual([
      ...["Order_No", "price", undefined],
    ]);
  });

  it.each([
    ["a column with a number", named("Price", "Price_2"), ["Price (€)"], /'Price' or 'Price_2'/],
    ["another heading of the file", named("Price"), ["Price ($)", "Price (€)"], /'Price'/],
    ["the name in the file", named("Price"), ["Price (€)", "Price"], /'Price \(€\)'.*'Price'/],
    ["another heading of the column", madeFrom(["Price ($)"]), ["Price (€)"], /'Price'/],
  ])("are not guessed beside %s", (_, fields, headings, message) => {
    expect(() => find(fields, headings)).toThrow(message);
  });
});
