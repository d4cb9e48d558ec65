import { describe, expect, test } from "vitest";
import { readRows } from "../../../src/workflows/intake/read-rows.ts";
import { unpackRows } from "../../../src/workflows/rows/pack-rows.ts";

const MAX_DEPTH = 16;
const read = (text: string | Uint8Array) =>
  readRows(typeof text === "string" ? Buffer.from(text) : text, MAX_DEPTH);
async function rowsOf(text: string): Promise<unknown[]> {
  const { chunks, rows } = await read(text);
  const found = (await Promise.all(chunks.map(unpackRows))).flat();
  expect(rows).toBe(found.length);
  return found;
}

describe("the rows of a body", () => {
  test.each<[string, string, readonly unknown[]]>([
    ["an object", '{"a":1}', [{ a: 1 }]],
    ["an empty object", " {} ", [{}]],
    ["objects", '[{"a":1},\n {"a":2}]', [{ a: 1 }, { a: 2 }]],
    ["nothing", "[]", []],
    ["nothing with spaces", " [ \n] ", []],
    ["scalars", '[1,"a",null,true,-1.5]', [1, "a", null, true, -1.5].map((value) => ({ value }))],
    ["a mixed array", '[{"a":1},2,[3]]', [{ a: 1 }, { value: 2 }, { value: [3] }]],
    ["nested arrays", "[[],[1,[2]]]", [{ value: [] }, { value: [1, [2]] }]],
    ["brackets in texts", '["]","\\"],[","\\\\"]', ["]", '"],[', "\\"].map((value) => ({ value }))],
    ["a large integer", '{"id":9007199254740993}', [{ id: "9007199254740993" }]],
    ["the largest safe one", "[9007199254740991]", [{ value: 9_007_199_254_740_991 }]],
    ["a negative one", "[-9007199254740993]", [{ value: "-9007199254740993" }]],
    ["digits in a text", '["9007199254740993"]', [{ value: "9007199254740993" }]],
    ["digits in a name", '[{"9007199254740993":1}]', [{ "9007199254740993": 1 }]],
    ["long decimals", "[0.12345678901234567890]", [{ value: 0.12345678901234568 }]],
    ["a number without end", "[1e400,1e300]", [{ value: "1e400" }, { value: 1e300 }]],
  ])("of %s", async (_, text, rows) => {
    expect(await rowsOf(text)).toEqual(rows);
  });

  test("keep a field that objects inherit", async () => {
    const { chunks } = await read('[{"__proto__":{"a":1},"constructor":2}]');
    const [row] = (await Promise.all(chunks.map(unpackRows))).flat();
    expect(JSON.stringify(row)).toBe('{"__proto__":{"a":1},"constructor":2}');
  });

  test("of a body of many slices are all there, in their order", async () => {
    const rows = Array.from({ length: 20_000 }, (_, n) => ({ n, text: `a, [${n}] {"} \\" ü` }));
    expect(await rowsOf(JSON.stringify(rows))).toEqual(rows);
    expect(await rowsOf(JSON.stringify(rows, null, 2))).toEqual(rows);
  });
});

describe("a body is refused", () => {
  test.each([
    ["", "invalid_json"],
    ["  ", "invalid_json"],
    ["[1,]", "invalid_json"],
    ["[,1]", "invalid_json"],
    ["[1,,2]", "invalid_json"],
    ["[1 2]", "invalid_json"],
    ["[1", "invalid_json"],
    ["[1,", "invalid_json"],
    ['["a', "invalid_json"],
    ["[1]]", "invalid_json"],
    ["[1] 2", "invalid_json"],
    ["[] []", "invalid_json"],
    ["[}", "invalid_json"],
    ["[{]", "invalid_json"],
    ["[{]}]", "invalid_json"],
    ["[1}", "invalid_json"],
    ['{"a":1', "invalid_json"],
    ["{'a':1}", "invalid_json"],
    ["[01234567890123456789]", "invalid_json"],
    ["{1234567890123456789 : 1}", "invalid_json"],
    ["\ufeff[]", "invalid_json"],
    ["[\u00a01]", "invalid_json"],
    ["nope", "invalid_json"],
    ["1", "invalid_value"],
    ['"text"', "invalid_value"],
    ["null", "invalid_value"],
    [`[${"[".repeat(20)}${"]".repeat(20)}]`, "invalid_json"],
    [`[${"[".repeat(16)}${"]".repeat(16)}]`, "invalid_json"],
  ])("%j as %s", async (text, code) => {
    await expect(read(text)).rejects.toMatchObject({ code, status: 400 });
  });

  test("at the depth that is allowed it is not", async () => {
    expect((await read(`[${"[".repeat(15)}${"]".repeat(15)}]`)).rows).toBe(1);
  });

  test("when it is not UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from('["'), Buffer.from([0xff]), Buffer.from('"]')]);
    await expect(read(bytes)).rejects.toMatchObject({ code: "invalid_json" });
  });

  test("with more than 100,000 rows", async () => {
    const numbers = (count: number) => `[${Array.from({ length: count }, () => 1).join()}]`;
    expect((await read(numbers(100_000))).rows).toBe(100_000);
    await expect(read(numbers(100_001))).rejects.toMatchObject({
      code: "request_too_large",
      status: 413,
    });
  });

  test("with one long text or number, which is not even parsed", async () => {
    const bytes = 4 * 1024 * 1024;
    for (const body of [`"${"a".repeat(bytes)}"`, "1".repeat(bytes), "nope".repeat(bytes / 4)]) {
      await expect(read(body)).rejects.toMatchObject({ code: "request_too_large", status: 413 });
    }
  });

  test("with a row of more than a megabyte, however it is written", async () => {
    const most = 1024 * 1024;
    const text = (bytes: number) => `[{"a":"${"x".repeat(bytes - '{"a":""}'.length)}"}]`;
    expect((await read(text(most))).rows).toBe(1);
    for (const body of [text(most + 1), text(4 * most), text(4 * most).slice(1, -1)]) {
      await expect(read(body)).rejects.toMatchObject({ code: "request_too_large" });
    }
    const escaped = `["${"\\u0041".repeat(400_000)}"]`;
    expect((await read(escaped)).rows).toBe(1);
  });
});

test("any text that is cut anywhere is read as JSON reads it, or refused", async () => {
  const whole = '[{"a":[1,{"b":"]\\\\\\""}]}, 12, "x" ,[[]], {} ]';
  for (let end = 0; end <= whole.length; end += 1) {
    const text = whole.slice(0, end);
    const expected = parsed(text);
    const found = await read(text).then(
      ({ rows }) => rows,
      () => undefined,
    );
    expect([text, found]).toEqual([text, expected?.length]);
  }
});

function parsed(text: string): readonly unknown[] | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
