import { expect, it } from "vitest";
import { selectText } from "../../../src/console/pages/connections/connection-words.ts";

it("reads the rows of a table whatever its name is", () => {
  const read = (...[kind, table]: Parameters<typeof selectText>) =>
    /^SELECT \* FROM (.*) LIMIT 100$/.exec(selectText(kind, table))?.[1];
  expect(read("postgres", "user")).toBe('"user"');
  expect(read("postgres", "sales.Orders")).toBe('"sales"."Orders"');
  expect(read("postgres", 'odd"one')).toBe('"odd""one"');
  expect(read("mysql", "order")).toBe("`order`");
  expect(read("mysql", "shop.order-items")).toBe("`shop`.`order-items`");
  expect(read("mysql", "shop.a.b`c")).toBe("`shop`.`a.b``c`");
  expect(read("sqlite", "plain")).toBe('"plain"');
  expect(read("sqlite", "main.order")).toBe('"main.order"');
});
