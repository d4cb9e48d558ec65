import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
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
    [{ glob: "*", more: 1 }, "argument 'more' is unknown."],
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

  it("are plain data whatever their names are", () => {
    const free = tool({ type: "object" });
    const { args } = readArguments(free, '{"__proto__":{"polluted":1},"constructor":2}') as {
      args: JsonObject;
    };
    expect(Object.keys(args)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    expect(checkArguments(FIND, JSON.parse('{"glob":"*","__proto__":{"limit":"5"}}')).fault).toBe(
      "Tool 'find_files': argument '__proto__' is unknown.",
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
