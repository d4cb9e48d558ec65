import { afterAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/lib/json/json.ts";
import { openRowProcess } from "../../../src/workflows/row-process/open-row-process.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";
import { aggregateStep } from "../../../src/workflows/steps/aggregate.ts";
import { dedupeStep } from "../../../src/workflows/steps/dedupe.ts";
import { explodeStep } from "../../../src/workflows/steps/explode.ts";
import { filterStep } from "../../../src/workflows/steps/filter.ts";
import { flowBreakStep } from "../../../src/workflows/steps/flow-break.ts";
import { ifStep } from "../../../src/workflows/steps/if.ts";
import { inputStep } from "../../../src/workflows/steps/input.ts";
import { joinStep } from "../../../src/workflows/steps/join.ts";
import { limitStep } from "../../../src/workflows/steps/limit.ts";
import { mapStep } from "../../../src/workflows/steps/map.ts";
import { rowsStep } from "../../../src/workflows/steps/rows.ts";
import { selectStep } from "../../../src/workflows/steps/select.ts";
import { sortStep } from "../../../src/workflows/steps/sort.ts";
import { sqlStep } from "../../../src/workflows/steps/sql.ts";
import type { StepKind } from "../../../src/workflows/steps/step-kind.ts";
import { validateStep } from "../../../src/workflows/steps/validate.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

const rowProcess = openRowProcess({ processes: 1 });
const services = { rowProcess };
afterAll(() => rowProcess.close());

const main = async (kind: StepKind, settings: Row, rows: readonly Row[]) =>
  (await runStep(kind, { settings, rows })).outputs.main;

const numbered = (count: number): Row[] => Array.from({ length: count }, (_, n) => ({ n }));

describe("expressions", () => {
  test.each<[string, unknown]>([
    ["row.n * 2", 10],
    ["row.n / 2", 2.5],
    ["row.n + 1.5", 6.5],
    ["row.n % 2 == 1", true],
    ["row.n == 5 && 5 == row.n && row.n != 6", true],
    ["7 / 2", 3],
    ["row.absent", null],
    ["row.absent.deeper.still", null],
    ["row.list[1]", "b"],
    ["row.list[9]", null],
    ["has(row.absent)", false],
    ["has(row.absent.deeper)", false],
    ["has(row.object.x)", true],
    ["'x' in row.object && !('y' in row.object)", true],
    ["row.object == {'x': 1}", true],
    ["row.object", { x: 1 }],
    ["size(row.list) + size(row.text)", 7],
    ["row.text.upper() + string(row.n) + string(row.absent)", "HELLO5"],
    ["row.text.replace('l', '$&')", "he$&$&o"],
    ["row.text.split('l').size()", 3],
    ["row.text.matches('^h.*o$') && !row.text.matches('x')", true],
    ["row.text.matches('(?i)HELLO')", true],
    ['json(\'{"a": [1, {"b": 2}]}\').a[1].b', 2],
    ["toJson(row.object)", '{"x":1}'],
    ["string(row.list)", '["a","b"]'],
    ["int('42') + row.n", 47],
    ["double('2.5') * 2", 5],
    ["9007199254740993", "9007199254740993"],
    ["date(timestamp('2026-11-23T23:30:00Z') + duration('1h'))", "2026-11-24"],
    ["timestamp('2026-01-02')", "2026-01-02T00:00:00.000Z"],
    ["timestamp('2026-01-02 03:04')", "2026-01-02T03:04:00.000Z"],
    ["timestamp('2026-01-02T03:04:05.678+01:00')", "2026-01-02T02:04:05.678Z"],
    ["timestamp(timestamp('2026-01-02')) < timestamp('2026-01-02T00:00:01Z')", true],
    ["timestamp(5)", "1970-01-01T00:00:05.000Z"],
    ["timestamp(row.n)", "1970-01-01T00:00:05.000Z"],
    ["round(2.345, 2)", 2.35],
    ["row.list.map(item, item + '!')", ["a!", "b!"]],
    ["row.list.exists(item, item == 'b')", true],
    ["row.list.filter(item, item > 'a')", ["b"]],
    ["row.text.nope", null],
    ["trigger.kind", "manual"],
    ["run.workflow_id", "wf_stage"],
    ["[1, 'two', row.n]", [1, "two", 5]],
    ["{'sum': row.n + 1, 'list': [row.object]}", { sum: 6, list: [{ x: 1 }] }],
    ["cel.bind(twice, row.n * 2, twice + 1)", 11],
  ])("%s is %j", async (expression, value) => {
    const row = { n: 5, text: "hello", list: ["a", "b"], object: { x: 1 } };
    const [made] = await main(mapStep(services), { set: { made: expression } }, [row]);
    expect(made?.["made"]).toEqual(value);
  });

  test.each([
    "row.absent > 5",
    "row.text + 1",
    "1 / 0",
    "row.n / 0.0",
    "int('x')",
    "timestamp('2026-02-30')",
    "timestamp('2026-01-02T25:00:00Z')",
    "timestamp('11/23/2026')",
  ])("%s is the fault of a row, told with its number", async (expression) => {
    const step = runStep(mapStep(services), {
      settings: { set: { made: expression } },
      rows: [{ n: 1, text: "t" }],
    });
    await expect(step).rejects.toMatchObject({ code: "expression_failed", row: 1 });
  });

  test("a row's names reach nothing of JavaScript", async () => {
    const row = JSON.parse(
      '{"__proto__": {"a": 1}, "constructor": "c", "hasOwnProperty": 2}',
    ) as Row;
    const set = {
      proto: "row['__proto__'].a",
      made: "row.constructor",
      own: "row.hasOwnProperty",
      none: "row.toString",
      deep: "row.made.constructor.constructor",
    };
    const [made] = await main(mapStep(services), { set }, [row]);
    expect(made).toMatchObject({ proto: 1, made: "c", own: 2, none: null, deep: null });
    expect(Object.keys(made as Row)).toContain("__proto__");
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
  });
});

describe("texts", () => {
  test.each([
    ["Hello {{ row.name }}!", "Hello Ada!"],
    ["{{ row.absent }}|{{ row.n }}|{{ row.object }}", '|1.5|{"a":[1]}'],
    ["{{ '}}' + row.name }}", "}}Ada"],
    ["{{ {'a': {'b': row.name}} }}", '{"a":{"b":"Ada"}}'],
    ["{{ '\\'}}' + row.name }} } }}", "'}}Ada } }}"],
  ])("%s becomes %s", async (text, made) => {
    const row = { name: "Ada", n: 1.5, object: { a: [1] } };
    expect(await main(mapStep(services), { set: { text } }, [row])).toEqual([
      { ...row, text: made },
    ]);
  });
});

describe("steps", () => {
  test("filter keeps rows, if sends the others to else", async () => {
    expect(await main(filterStep(services), { where: "row.n >= 2" }, numbered(4))).toEqual([
      { n: 2 },
      { n: 3 },
    ]);
    const { outputs } = await runStep(ifStep(services), {
      settings: { condition: "row.n == 0 ? true : row.absent" },
      rows: numbered(3),
      onRowError: "skip",
    });
    expect(outputs).toMatchObject({ main: [{ n: 0 }], else: [{ n: 1 }, { n: 2 }] });
  });

  test("map sets fields from the row as it came and removes others", async () => {
    const settings = { set: { a: "row.b", b: "row.a", c: 1, d: null }, remove: ["e"] };
    expect(await main(mapStep(services), settings, [{ a: 1, b: 2, e: 3 }])).toEqual([
      { a: 2, b: 1, c: 1, d: null },
    ]);
  });

  test("select orders, renames and fills fields", async () => {
    const settings = { fields: ["b", "a", "z"], rename: { a: "first" } };
    const [row] = await main(selectStep(services), settings, [{ a: 1, b: 2, c: 3 }]);
    expect(JSON.stringify(row)).toBe('{"b":2,"first":1,"z":null}');
  });

  test("select without fields keeps all, and a renamed one takes the place of its namesake", async () => {
    const rows = [
      { mail: "a@x", id: 1, email: null },
      { email: null, id: 2, mail: "b@x" },
      { email: "c@x", id: 3 },
      { mail: null, email: "d@x" },
    ];
    const renamed = await main(selectStep(services), { rename: { mail: "email" } }, rows);
    expect(renamed.map((row) => JSON.stringify(row))).toEqual([
      '{"email":"a@x","id":1}',
      '{"id":2,"email":"b@x"}',
      '{"email":"c@x","id":3}',
      '{"email":null}',
    ]);
    const swapped = { rename: { a: "b", b: "a" } };
    expect(await main(selectStep(services), swapped, [{ a: 1, b: 2 }])).toEqual([{ b: 1, a: 2 }]);
  });

  test("explode makes a row of each item, none of null, and refuses objects", async () => {
    const rows = [
      { n: 1, l: [1, { a: 2 }] },
      { n: 2, l: null },
      { n: 3, l: [] },
      { n: 4, l: "x" },
    ];
    expect(await main(explodeStep(services), { field: "l" }, rows)).toEqual([
      { n: 1, l: 1 },
      { n: 1, l: { a: 2 } },
      { n: 4, l: "x" },
    ]);
    await expect(main(explodeStep(services), { field: "l" }, [{ l: {} }])).rejects.toMatchObject({
      code: "not_a_list",
    });
  });

  test("validate passes on what fulfils the schema and tells what does not", async () => {
    const schema = {
      type: "object",
      properties: { n: { type: "integer" }, mail: { type: "string", pattern: "^\\S+@\\S+$" } },
      required: ["n"],
    };
    const { outputs, rowErrors } = await runStep(validateStep(services), {
      settings: { schema },
      rows: [{ n: 1, mail: "a@b" }, { n: 1.5 }, { mail: "x y" }],
      onRowError: "route",
    });
    expect(outputs.main).toEqual([{ n: 1, mail: "a@b" }]);
    expect(rowErrors).toBe(2);
    expect(outputs["errors"]?.map((row) => row["_error"])).toMatchObject([
      { row: 2, code: "invalid_row", message: expect.stringContaining("'n' must be integer") },
      { row: 3, code: "invalid_row" },
    ]);
  });

  test("sort orders values of every type, and is stable", async () => {
    const values = ["b", 10, null, true, "a", 2, [1], false];
    const rows = values.map((v, n) => ({ v, n }));
    const sorted = await main(sortStep(services), { by: ["v"] }, rows);
    expect(sorted.map(({ v }) => v)).toEqual([null, false, true, 2, 10, "a", "b", [1]]);
    const by = [{ field: "g", order: "desc" }];
    const stable = await main(
      sortStep(services),
      { by },
      numbered(9).map(({ n }) => ({ n, g: Number(n) % 2 })),
    );
    expect(stable.map(({ n }) => n)).toEqual([1, 3, 5, 7, 0, 2, 4, 6, 8]);
  });

  test.each<[readonly JsonValue[], readonly JsonValue[]]>([
    [
      ["10.50", "9.75", null, "-1", "1e1"],
      [null, "-1", "9.75", "1e1", "10.50"],
    ],
    [
      ["9007199254740993", 9_007_199_254_740_991, "9007199254740992"],
      [9_007_199_254_740_991, "9007199254740992", "9007199254740993"],
    ],
    [
      ["2", 10, "1.0", 1],
      ["1.0", 1, "2", 10],
    ],
    [
      ["10", "9", "x"],
      ["10", "9", "x"],
    ],
    [
      ["10", 9, true],
      [true, 9, "10"],
    ],
    [
      ["9", "10", `1${"0".repeat(1_000)}`],
      ["10", `1${"0".repeat(1_000)}`, "9"],
    ],
  ])("sort of %j by number where all are numbers", async (values, expected) => {
    const rows = values.map((v) => ({ v }));
    const sorted = await main(sortStep(services), { by: ["v"] }, rows);
    expect(sorted.map(({ v }) => v)).toEqual(expected);
    const by = [{ field: "v", order: "desc" }];
    const down = await main(sortStep(services), { by }, rows);
    expect(down.map(({ v }) => Number(v))).toEqual(expected.map(Number).reverse());
  });

  test("limit passes on a part of the rows", async () => {
    const rows = await main(limitStep(services), { count: 2_500, offset: 3 }, numbered(5_000));
    expect([rows.length, rows[0], rows.at(-1)]).toEqual([2_500, { n: 3 }, { n: 2_502 }]);
    expect(await main(limitStep(services), { count: 0 }, numbered(3))).toEqual([]);
  });

  test("dedupe keeps the first of equal rows", async () => {
    const rows = [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
      { a: "1", b: 2 },
      { a: 1, b: 3 },
    ];
    expect(await main(dedupeStep(services), {}, rows)).toEqual([rows[0], rows[2], rows[3]]);
    expect(await main(dedupeStep(services), { by: ["a"] }, rows)).toEqual([rows[0], rows[2]]);
  });

  test("aggregate has every operation, in the order in which groups appear", async () => {
    const rows = [
      { g: "b", v: 0.1 },
      { g: "a", v: 5 },
      { g: "b", v: 0.2 },
      { g: "b", v: null },
      { g: "b", v: "0.2" },
    ];
    const ops = ["sum", "count", "min", "max", "avg", "first", "last", "list", "count_distinct"];
    const values = Object.fromEntries(ops.map((op) => [op, { op, field: "v" }]));
    const [first, second] = await main(
      aggregateStep(services),
      { by: ["g"], values: { ...values, rows: { op: "count" } } },
      rows,
    );
    expect(first).toEqual({
      ...{ g: "b", sum: "0.5", count: 3, min: 0.1, max: 0.2, first: 0.1, last: "0.2", rows: 4 },
      ...{ avg: 0.5 / 3, list: [0.1, 0.2, null, "0.2"], count_distinct: 3 },
    });
    expect(second).toMatchObject({ g: "a", sum: 5, rows: 1 });
  });

  test.each([
    [
      "inner",
      [
        { id: 1, x: "l", name: "A" },
        { id: 1, x: "l", name: "B" },
      ],
    ],
    [
      "left",
      [
        { id: 1, x: "l", name: "A" },
        { id: 1, x: "l", name: "B" },
        { id: 2, x: "m", name: null },
        { id: null, x: "n", name: null },
      ],
    ],
    [
      "anti",
      [
        { id: 2, x: "m" },
        { id: null, x: "n" },
      ],
    ],
    [
      "right",
      [
        { id: 1, x: "l", name: "A" },
        { id: 1, x: "l", name: "B" },
        { id: 3, name: "C" },
      ],
    ],
  ] as const)("join %s", async (how, expected) => {
    const { outputs } = await runStep(joinStep(services), {
      settings: { with: "people", on: { id: "key" }, how },
      inputs: {
        orders: [
          { id: 1, x: "l" },
          { id: 2, x: "m" },
          { id: null, x: "n" },
        ],
        people: [
          { key: 1, name: "A" },
          { key: 1, name: "B" },
          { key: 3, name: "C" },
        ],
      },
    });
    expect(outputs.main).toEqual(expected);
  });

  test("sql reads its inputs as tables of all fields and keeps types", async () => {
    const { outputs } = await runStep(sqlStep(services), {
      settings: {
        select:
          "SELECT a.id, a.big, b.name, a.o ->> '$.x' AS x, typeof(a.mixed) AS t, a.id AS id -- end\n FROM orders a LEFT JOIN check_else b ON a.id = b.id ORDER BY a.id;",
      },
      inputs: {
        orders: [
          { id: 1, o: { x: 7 }, mixed: "1" },
          { id: 2, mixed: 1, big: "9007199254740993" },
        ],
        check_else: [{ id: 2, name: "two" }],
      },
    });
    expect(outputs.main).toEqual([
      { id: 1, big: null, name: null, x: 7, t: "text", "id:1": 1 },
      { id: 2, big: "9007199254740993", name: "two", x: null, t: "integer", "id:1": 2 },
    ]);
  });

  test.each([
    ["SELECT * FROM a EXCEPT SELECT * FROM b", [{ id: 1, x: "q" }]],
    ["SELECT * FROM a UNION ALL SELECT * FROM b", [{ id: 1, x: "q" }]],
    ["SELECT * FROM b UNION ALL SELECT x, id FROM a", [{ id: "q", x: 1 }]],
    ["SELECT * FROM a EXCEPT SELECT * FROM b WHERE b.id > 1", [{ id: 1, x: "q" }]],
    ["SELECT * FROM a LEFT JOIN b ON b.id = a.id", [{ id: 1, x: "q", "id:1": null }]],
    ["SELECT * FROM a LEFT JOIN b USING (id)", [{ id: 1, x: "q" }]],
    ["SELECT * FROM a LEFT JOIN b ON b.key = a.id", [{ id: 1, x: "q", key: null }]],
    ["SELECT * FROM a LEFT JOIN b", [{ id: 1, x: "q" }]],
    ["SELECT id FROM a UNION ALL SELECT key FROM b UNION ALL SELECT key FROM c", [{ id: 1 }]],
    ["WITH t(y, z) AS (SELECT * FROM b) SELECT a.id, y FROM a LEFT JOIN t", [{ id: 1, y: null }]],
  ] as const)(
    "sql has an input without rows for every column it needs: %s",
    async (select, rows) => {
      const inputs = { a: [{ id: 1, x: "q" }], b: [], c: [] };
      const { outputs } = await runStep(sqlStep(services), { settings: { select }, inputs });
      expect(outputs.main).toEqual(rows);
    },
  );

  test("sql refuses texts and names with NUL, and says how to go on", async () => {
    const settings = { select: "SELECT * FROM a" };
    const run = (row: Row) => runStep(sqlStep(services), { settings, inputs: { a: [{}, row] } });
    await expect(run({ note: "be\0hind" })).rejects.toMatchObject({
      code: "sql_text",
      message: expect.stringMatching(
        /^The field 'note' of row 2 .* row\.note\.replace\('\\u0000', ''\)\.$/,
      ),
    });
    const mend = { set: { note: "row.note.replace('\\u0000', '')" } };
    expect(await main(mapStep(services), mend, [{ note: "be\0hind" }])).toEqual([
      { note: "behind" },
    ]);
    await expect(run({ "be\0hind": 1 })).rejects.toMatchObject({
      code: "sql_columns",
      message: expect.stringMatching(/^The rows of 'a' have the field 'behind', .* select step/),
    });
    const { outputs } = await run({ list: ["\0"] });
    expect(outputs.main[1]).toEqual({ list: '["\\u0000"]' });
  });

  test("sql tells names apart as SQLite does", async () => {
    const settings = { select: "SELECT * FROM a" };
    const run = (row: Row) => runStep(sqlStep(services), { settings, inputs: { a: [row] } });
    expect((await run({ Ä: 1, ä: 2 })).outputs.main).toEqual([{ Ä: 1, ä: 2 }]);
    await expect(run({ A: 1, a: 2 })).rejects.toMatchObject({ code: "sql_columns" });
  });

  test("flow_break ends the run by its rows or a condition, and passes them on otherwise", async () => {
    const kind = flowBreakStep(services);
    const run = (settings: Row, rows: readonly Row[]) => runStep(kind, { settings, rows });
    expect((await run({ break_on: "empty", message: "none" }, [])).end).toEqual({
      breaks: { as: "completed", message: "none" },
    });
    expect((await run({ break_on: "not_empty", as: "failed" }, numbered(1))).end).toMatchObject({
      breaks: { as: "failed" },
    });
    const condition = { break_on: "condition", condition: "row.n == 2" };
    expect((await run(condition, numbered(3))).end).toMatchObject({ breaks: { as: "completed" } });
    const passed = await run(condition, numbered(2));
    expect([passed.end, passed.outputs.main]).toEqual([undefined, numbered(2)]);
  });

  test("input and rows yield their rows", async () => {
    expect(await main(inputStep(), {}, numbered(3))).toEqual(numbered(3));
    expect(await main(rowsStep(), { rows: numbered(2) }, [])).toEqual(numbered(2));
  });
});
