import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it, vi } from "vitest";
import type { JsonObject, JsonValue } from "../../src/lib/json/json.ts";
import { checkArguments, readArguments } from "../../src/tools/check-arguments.ts";
import type { Tool } from "../../src/tools/tool.ts";

function tool(parameters: JsonObject): Tool {
  return {
    name: "find_files",
    description: "",
    level: "read_only",
    parameters,
    run: async () => ({ text: "" }),
  };
}

const FIND = tool({
  type: "object",
  properties: {
    glob: { type: "string" },
    limit: { type: "integer", minimum: 1 },
    kinds: { type: "array", items: { enum: ["a", "b"] } },
    inner: { type: "object", properties: { size: { type: ["number", "null"] } } },
  },
  required: ["glob"],
  additionalProperties: false,
});

describe("Arguments of a tool", () => {
  it.each<readonly [unknown, string]>([
    [{ glob: "*", limit: "5" }, "argument 'limit' must be integer, got string."],
    [{ glob: 5 }, "argument 'glob' must be string, got integer."],
    [{ glob: null }, "argument 'glob' must be string, got null."],
    [{ glob: "*", limit: 1.5 }, "argument 'limit' must be integer, got number."],
    [{ glob: "*", limit: 0 }, "argument 'limit' must be >= 1."],
    [{ glob: "*", kinds: ["a", "c"] }, 'argument \'kinds[1]\' must be one of "a", "b".'],
    [{ glob: "*", kinds: "a" }, "argument 'kinds' must be array, got string."],
    [
      { glob: "*", inner: { size: [] } },
      "argument 'inner.size' must be number or null, got array.",
    ],
    [{}, "argument 'glob' is missing."],
    [
      { glob: "*", more: 1 },
      "argument 'more' is unknown; there is 'glob', 'limit', 'kinds', 'inner'.",
    ],
    [[], "the arguments must be an object, got array."],
  ])("%j are refused with the tool, the argument and what it must be", (args, text) => {
    expect(checkArguments(FIND, args).fault).toBe(`Tool 'find_files': ${text}`);
  });

  it("are never coerced", () => {
    const args = { glob: "*", limit: 5 };
    expect(checkArguments(FIND, args)).toEqual({ args });
    expect(checkArguments(tool({ type: "object" }), { any: "5" })).toEqual({ args: { any: "5" } });
  });

  it("may be no text at all, and must otherwise be JSON", () => {
    const free = tool({ type: "object" });
    expect(readArguments(free, "")).toEqual({ args: {} });
    expect(readArguments(free, "{").fault).toMatch(/not valid JSON/);
    expect(readArguments(free, "null").fault).toMatch(/must be an object, got null/);
  });

  it.each<readonly [string, string]>([
    ['{"id":1234567890123456789}', "id"],
    ['{"a":{"ids":[1,-9007199254740993]}}', "a.ids[1]"],
    ['{"id":1,"id":9007199254740993}', "id"],
    ['{"__proto__":{"id":9007199254740993}}', "__proto__.id"],
    ['{"id":1e400}', "id"],
  ])("in %s are refused, as a number would be another one", (text, argument) => {
    for (const source of ["builtin", "mcp"] as const) {
      expect(readArguments({ ...tool({ type: "object" }), source }, text)).toEqual({
        fault: `Tool 'find_files': argument '${argument}' is a number too large to be kept exactly; pass it as text.`,
        argument,
      });
    }
  });

  it("may hold large numbers that stay what they are, and any as text", () => {
    const free = tool({ type: "object" });
    const text =
      '{"a":9007199254740991,"b":10000000000000000,"c":"1234567890123456789","d":6.02e23,"e":0.12345678901234567890}';
    expect(readArguments(free, text)).toEqual({ args: JSON.parse(text) });
    // What the schema says of a number helps the model more.
    expect(readArguments(FIND, '{"glob":1234567890123456789}').fault).toMatch(/must be string/);
  });

  it("are plain data whatever their names are", () => {
    const free = tool({ type: "object" });
    const { args } = readArguments(free, '{"__proto__":{"polluted":1},"constructor":2}') as {
      args: JsonObject;
    };
    expect(Object.keys(args)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    expect(checkArguments(FIND, JSON.parse('{"glob":"*","__proto__":{"limit":"5"}}')).fault).toBe(
      "Tool 'find_files': argument '__proto__' is unknown; there is 'glob', 'limit', 'kinds', 'inner'.",
    );
    // An inherited name is no argument.
    const wants = tool({ type: "object", required: ["toString"] });
    expect(checkArguments(wants, {}).fault).toMatch(/'toString' is missing/);
  });

  it("that are nested too deeply or too long are refused before they are parsed", () => {
    const free = tool({ type: "object" });
    expect(readArguments(free, `{"a":${"[".repeat(100_000)}`).fault).toMatch(/too deeply/);
    expect(readArguments(free, `{"a":"${"x".repeat(1_100_000)}"}`).fault).toMatch(/too long/);
  });

  it("are checked by the draft that the schema names, and by unknown formats not at all", () => {
    const older = tool({
      $schema: "http://json-schema.org/draft-07/schema#",
      $id: "https://example.com/tool",
      type: "object",
      definitions: { size: { type: "integer" } },
      properties: { size: { $ref: "#/definitions/size" }, pair: { items: [{ type: "string" }] } },
    });
    expect(checkArguments(older, { size: "1" }).fault).toMatch(/'size' must be integer/);
    expect(checkArguments(older, { pair: [1] }).fault).toMatch(/'pair\[0\]' must be string/);
    const format = tool({ type: "object", properties: { at: { type: "string", format: "moon" } } });
    expect(checkArguments(format, { at: "x" })).toEqual({ args: { at: "x" } });
  });

  it("of a tool whose schema cannot be used are refused", () => {
    const broken = tool({
      type: "object",
      properties: { a: { $ref: "https://example.com/else" } },
    });
    expect(checkArguments(broken, {}).fault).toMatch(/schema cannot be used/);
  });
});

describe("Arguments of a tool of a tool server", () => {
  const faultOf = (parameters: JsonObject, args: JsonObject): string | undefined =>
    checkArguments({ ...tool(parameters), source: "mcp" }, args).fault;
  const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
    type: "object",
    properties,
    ...more,
  });
  const many = (count: number, of: (name: string) => JsonValue): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, of(`p${index}`)]));

  it("are checked by the whole schema where it is of ordinary size", () => {
    const described = { type: "string", minLength: 2, description: "d".repeat(900) };
    const schema = object(
      { ...many(200, () => described), either: { anyOf: [{ type: "null" }, { minimum: 5 }] } },
      { required: ["p1"], dependentSchemas: { p2: { required: ["p3"] } } },
    );
    expect(faultOf(schema, { p1: "ab", either: 7 })).toBeUndefined();
    expect(faultOf(schema, {})).toContain("argument 'p1' is missing");
    expect(faultOf(schema, { p1: "a" })).toContain("'p1' must NOT have fewer than 2");
    expect(faultOf(schema, { p1: "ab", either: 3 })).toContain("'either' must");
    expect(faultOf(schema, { p1: "ab", p2: "ab" })).toContain("'p3' is missing");
    const named = object({ title: { type: "integer" }, format: { const: 1 }, enum: { enum: [2] } });
    expect(faultOf(named, { title: "a" })).toContain("'title' must be integer");
    expect(faultOf(named, { format: 2 })).toContain("'format' must");
    expect(faultOf(named, { enum: 1 })).toContain("'enum' must be one of 2");
  });

  const alternatives = Array.from({ length: 33 }, (_, index) => ({ const: index }));
  it.each<readonly [string, JsonObject]>([
    ["many properties", many(300, () => ({ type: "string", minLength: 3 }))],
    ["long rules", { long: { enum: ["e".repeat(17_000)] } }],
    ["many alternatives", { either: { oneOf: alternatives } }],
    [
      "alternatives within alternatives",
      { either: { anyOf: [{ allOf: alternatives.slice(16) }, { oneOf: alternatives.slice(16) }] } },
    ],
    ["many conditions", { either: { dependentSchemas: many(33, () => true) } }],
  ])("are checked for required ones and for types where the schema has %s", (_what, large) => {
    const odd = { "a/b~": { type: ["number", "null"] }, yes: true };
    const parameters = object(
      { ...large, p1: { type: "string", minLength: 3 }, ...odd },
      {
        required: ["p1", "toString"],
      },
    );
    const good = { p1: "x", toString: "x" };
    expect(faultOf(parameters, good)).toBeUndefined();
    expect(faultOf(parameters, { ...good, either: 7, other: 8, yes: 9 })).toBeUndefined();
    expect(faultOf(parameters, { p1: "x" })).toContain("argument 'toString' is missing");
    expect(faultOf(parameters, { ...good, p1: 7 })).toContain("'p1' must be string, got integer");
    expect(faultOf(parameters, { ...good, "a/b~": 7 })).toBeUndefined();
    expect(faultOf(parameters, { ...good, "a/b~": "x" })).toContain(
      "argument 'a/b~' must be number or null, got string",
    );
  });

  it("are refused where they are too long or hold too many values", () => {
    const free = { type: "object" };
    expect(faultOf(free, { a: new Array(9_000).fill(1) })).toBeUndefined();
    expect(faultOf(free, { a: new Array(10_000).fill(1) })).toMatch(/more than 10000 values/);
    expect(
      faultOf(
        free,
        many(10_000, () => []),
      ),
    ).toMatch(/more than 10000 values/);
    expect(faultOf(free, { a: "é".repeat(131_000) })).toBeUndefined();
    expect(faultOf(free, { a: "é".repeat(131_100) })).toMatch(/too long/);
    expect(faultOf(free, { ["n".repeat(262_200)]: 1 })).toMatch(/too long/);
    const served: Tool = { ...tool(free), source: "mcp" };
    expect(readArguments(served, `{"a":"${"x".repeat(262_200)}"}`).fault).toMatch(/too long/);
    // Built-in tools read more.
    expect(checkArguments(tool(free), { a: new Array(20_000).fill(1) }).fault).toBeUndefined();
    expect(readArguments(tool(free), `{"a":"${"x".repeat(500_000)}"}`).fault).toBeUndefined();
  });

  it("are refused where they are too many for the schema", () => {
    const item = { enum: Array.from({ length: 500 }, (_, index) => `e${index}`) };
    const schema = object({ list: { type: "array", items: item } });
    expect(faultOf(schema, { list: new Array(1_500).fill("e499") })).toBeUndefined();
    expect(faultOf(schema, { list: new Array(3_000).fill("e499") })).toMatch(
      /3002 values, which is too many for its schema/,
    );
  });

  it("are checked by one validator for each schema, however often it is listed", () => {
    const listed = () => object({ size: { type: "integer" } });
    const first = vi.spyOn(Ajv2020.prototype, "compile");
    for (let round = 0; round < 5; round += 1) {
      expect(faultOf(listed(), { size: "1" })).toContain("'size' must be integer");
    }
    expect(first).toHaveBeenCalledTimes(1);
    expect(faultOf(object({ size: { type: "string" } }), { size: "1" })).toBeUndefined();
    expect(first).toHaveBeenCalledTimes(2);
    first.mockRestore();
  });
});
