import { afterAll, describe, expect, test } from "vitest";
import { openRowProcess } from "../../../src/workflows/row-process/open-row-process.ts";

const rowProcess = openRowProcess({ processes: 1 });
afterAll(() => rowProcess.close());
const scope = { trigger: { kind: "manual" }, run: { id: "run_1" } };
const { signal } = new AbortController();

describe("what is checked before there are rows", () => {
  test.each([
    ["expression", "row.a +", "Unexpected token"],
    ["expression", "nothing.a", "Unknown variable: nothing"],
    ["expression", "nope(row.a)", "nope"],
    ["expression", "row.a.nope()", "nope"],
    ["text", "Hello {{ row.name", "not closed"],
    ["text", "Hello {{ }}", "without an expression"],
    ["text", "Hello {{ row.name + }}", "wrong"],
    ["json_schema", '{"type": "nothing"}', "JSON Schema is wrong"],
    ["json_schema", '{"pattern": "(?=a)"}', "looks around"],
  ] as const)("%s %s: %s", async (kind, text, message) => {
    const faults = await rowProcess.check([
      { field: "right", kind: "expression", text: "row.a" },
      { field: "wrong", kind, text },
    ]);
    expect(faults).toEqual([{ field: "wrong", message: expect.stringContaining(message) }]);
  });

  test.each([
    ["SELECT a, o.b FROM orders o JOIN check_else c ON c.id = o.id WHERE d > 1", undefined],
    ["WITH x AS (SELECT sum(a) AS s FROM orders) SELECT * FROM x", undefined],
    ["SELECT o.id, name FROM orders o JOIN check_else c USING (id, day)", undefined],
    ['SELECT * FROM orders LEFT JOIN check_else USING ("a day")', undefined],
    ["WITH t(x, y) AS (SELECT * FROM orders) SELECT x FROM t", undefined],
    ["SELECT o.a FROM orders o WHERE (o.a, o.b) IN (SELECT * FROM check_else)", undefined],
    ["SELECT o.a, o.b FROM orders o WHERE a IN (SELECT * FROM check_else)", undefined],
    ["SELECT * FROM orders UNION ALL SELECT id, name FROM check_else", undefined],
    ["SELECT id FROM orders UNION ALL SELECT 1, name FROM check_else", "same number"],
    ["SELECT nope(name) FROM check_else", "no such function: nope"],
    ["SELECT * FROM others", "no such table: others"],
    ["SELECT nope(a) FROM orders", "no such function: nope"],
    ["SELECT FROM orders", "syntax error"],
    ["SELECT 1; SELECT 2", "2 statements"],
    ["SELECT 1) UNION SELECT * FROM (SELECT 2", "syntax error"],
    ["SELECT a FROM orders -- all of them;", undefined],
    ["ATTACH 'x' AS y", "refused"],
  ])("%s: %s", async (text, message) => {
    const tables = ["orders", "check_else"];
    const faults = await rowProcess.check([{ field: "select", kind: "sql", text, tables }]);
    if (message === undefined) expect(faults).toEqual([]);
    else
      expect(faults).toMatchObject([
        { field: "select", message: expect.stringContaining(message) },
      ]);
  });
});

test("templates are evaluated for each row, and a fault is that row's alone", async () => {
  const templates = {
    greeting: { kind: "text", text: "Hello {{ row.name }} of {{ run.id }}" },
    twice: { kind: "expression", expression: "row.n * 2" },
  } as const;
  const rows = [{ name: "Ada", n: 2 }, { n: "x" }, { n: 1 }];
  expect(await rowProcess.evaluate(templates, rows, scope, signal)).toEqual([
    { values: { greeting: "Hello Ada of run_1", twice: 4 } },
    { error: { code: "expression_failed", message: expect.stringContaining("row.n * 2") } },
    { values: { greeting: "Hello  of run_1", twice: 2 } },
  ]);
});

test("a fault that shows the beginning of an expression cuts no character in two", async () => {
  const text = "string(row.n * 2) + '".padEnd(98, "x");
  const templates = {
    long: { kind: "expression", expression: `${text}\u{1f600} and more'` },
  } as const;
  const [result] = await rowProcess.evaluate(templates, [{ n: "x" }], scope, signal);
  expect(result).toMatchObject({ error: { message: expect.stringContaining(`${text}…`) } });
});
