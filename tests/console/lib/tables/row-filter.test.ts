import { describe, expect, it } from "vitest";
import {
  dataParameters,
  describeCondition,
  operatorsOf,
  readConditions,
  writeConditions,
} from "../../../../src/console/lib/tables/row-filter.ts";

describe("the conditions of rows", () => {
  it("come out of an address as they went in, whatever their values hold", () => {
    const conditions = [
      { column: "price", operator: "from", value: "12.50" },
      { column: "price", operator: "to", value: "20" },
      { column: "name & co", operator: "has", value: "a.b=c&d%" },
      { column: "paid", operator: "true", value: "" },
    ] as const;
    expect(readConditions(writeConditions(conditions))).toEqual(conditions);
  });

  it("that an address invents are left out", () => {
    expect(readConditions("price=drop.1&name&paid=constructor.x")).toEqual([]);
  });

  it("are asked for with the name of their column, and patterns only where they are meant", () => {
    const conditions = readConditions("limit=has.5%25_\\&price=is.3&note=empty");
    expect(dataParameters({ conditions, sort: "-price" })).toEqual([
      ["filter.limit", "ilike.%5\\%\\_\\\\%"],
      ["filter.price", "eq.3"],
      ["filter.note", "is.null"],
      ["order", "-price"],
    ]);
  });

  it("have words, and each type its operators", () => {
    const [first] = readConditions("price=from.12");
    expect(first && describeCondition(first)).toBe("price is at least 12");
    expect(operatorsOf("json").map(({ value }) => value)).toEqual(["empty", "filled"]);
    expect(operatorsOf("timestamp")[0]?.value).toBe("is");
  });
});
