import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../../../src/lib/json/json.ts";
import { checkArguments } from "../../../../src/tools/check-arguments.ts";
import { cleanInputSchema } from "../../../../src/tools/servers/clean/clean-schema.ts";
import type { Tool } from "../../../../src/tools/tool.ts";

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});

/** The cleaned schema of a property of this schema. */
function cleanProperty(property: JsonValue, more: JsonObject = {}): JsonValue | undefined {
  const properties = cleanInputSchema(object({ property }, more))?.["properties"];
  return (properties as JsonObject)["property"];
}

/** What is wrong with arguments, if anything. */
function faultOf(schema: JsonObject, args: JsonObject): string | undefined {
  const parameters = cleanInputSchema(schema) ?? {};
  const tool: Tool = {
    name: "tool",
    description: "",
    level: "read_only",
    parameters,
    run: async () => ({ text: "" }),
  };
  return checkArguments(tool, args).fault;
}

const nested = (depth: number, innermost: JsonValue = { type: "string" }): JsonObject => {
  let schema: JsonValue = innermost;
  for (let left = depth; left > 0; left -= 1) schema = object({ a: schema });
  return schema as JsonObject;
};

const manyNames = (count: number) => Array.from({ length: count }, (_, index) => `p${index}`);

/** Counts how often the values of an object are read. */
function watchReads(watched: JsonObject, reads: { count: number }): JsonObject {
  const copy = {};
  for (const [name, value] of Object.entries(watched)) {
    const get = () => {
      reads.count += 1;
      return value;
    };
    Object.defineProperty(copy, name, { enumerable: true, get });
  }
  return copy;
}

describe("The schema of a tool's arguments", () => {
  it("stays as it is where it is an ordinary one", () => {
    const schema = object(
      {
        city: { type: "string", description: "Where.", minLength: 1, examples: ["Bern"] },
        days: { type: ["integer", "null"], minimum: 1, maximum: 14, default: 3 },
        unit: { enum: ["C", "F"], title: "Unit" },
        tags: { type: "array", items: { type: "string", format: "uri" }, maxItems: 5 },
        either: { anyOf: [{ type: "string" }, { type: "object", additionalProperties: false }] },
        pair: { type: "array", prefixItems: [{ type: "number" }, true], items: false },
        kind: { const: "weather", deprecated: true },
        nothing: { const: null },
      },
      { required: ["city"], additionalProperties: false, minProperties: 1 },
    );
    expect(cleanInputSchema(schema)).toEqual(schema);
  });

  it("is an object schema, or none", () => {
    expect(cleanInputSchema(undefined)).toEqual({ type: "object" });
    expect(cleanInputSchema(null)).toEqual({ type: "object" });
    expect(cleanInputSchema({})).toEqual({ type: "object" });
    expect(cleanInputSchema({ properties: { a: true } })).toEqual(object({ a: true }));
    for (const other of [{ type: "array" }, { type: ["object"] }, [], "object", 7, true]) {
      expect(cleanInputSchema(other)).toBeUndefined();
    }
  });

  it.each([
    ["$id", "http://169.254.169.254/x"],
    ["$schema", "http://example.com/own"],
    ["$anchor", "a"],
    ["$dynamicRef", "#a"],
    ["$ref", "http://169.254.169.254/x"],
    ["$ref", "other.json#/a"],
    ["$ref", "#/$defs/none"],
    ["pattern", 7],
    ["patternProperties", { "(x+)+": {} }],
    ["uniqueItems", true],
    ["minimum", "1"],
    ["multipleOf", 0],
    ["minLength", -1],
    ["required", "a"],
    ["required", [1]],
    ["properties", [1]],
    ["anyOf", []],
    ["anyOf", {}],
    ["items", 7],
    ["type", "date"],
    ["type", []],
    ["enum", []],
    ["enum", Array.from({ length: 501 }, (_, index) => index)],
    ["exclusiveMinimum", true],
    ["description", 7],
    ["x-own", { deep: true }],
    ["__proto__", { polluted: true }],
  ])("loses the keyword %s where it is unsafe, unknown or wrong: %j", (keyword, value) => {
    const property = JSON.parse(
      `{"title":"kept",${JSON.stringify(keyword)}:${JSON.stringify(value)}}`,
    );
    expect(cleanProperty(property)).toEqual({ title: "kept" });
    expect(faultOf(object({ property }), { property: 5 })).toBeUndefined();
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("names a pattern in the description instead of checking it", () => {
    const description = "A word.";
    expect(cleanProperty({ type: "string", pattern: "^(a+)+$", description })).toEqual({
      type: "string",
      description: "A word. Pattern: ^(a+)+$",
    });
    expect(cleanProperty({ pattern: "^a$" })).toEqual({ description: "Pattern: ^a$" });
    const fault = faultOf(object({ property: { pattern: "^(a+)+$" } }), {
      property: `${"a".repeat(50)}!`,
    });
    expect(fault).toBeUndefined();
  });

  it("takes properties for no keywords, whatever their names are", () => {
    const properties = { $ref: { type: "string" }, pattern: { type: "number" }, $id: true };
    expect(cleanInputSchema(object(properties))).toEqual(object(properties));
    const own = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}');
    expect(JSON.stringify(cleanInputSchema(own))).toBe(JSON.stringify(own));
  });

  it("is read in older drafts and dialects, too", () => {
    expect(cleanProperty({ type: "string", nullable: true })).toEqual({ type: ["string", "null"] });
    expect(cleanProperty({ items: [{ type: "string" }], additionalItems: false })).toEqual({
      prefixItems: [{ type: "string" }],
      items: false,
      additionalItems: false,
    });
    const draft = "http://json-schema.org/draft-07/schema#";
    const schema = object(
      { pair: { type: "array", items: [{ type: "string" }] } },
      { $schema: draft },
    );
    expect(faultOf(schema, { pair: [1] })).toContain("must be string");
  });

  const leaf = object({ type: { const: "eq" }, key: { type: "string" } }, { required: ["type"] });
  const and = object(
    {
      type: { const: "and" },
      filters: {
        type: "array",
        items: { oneOf: [{ $ref: "#/$defs/leaf" }, { $ref: "#/$defs/and" }] },
      },
    },
    { required: ["type", "filters"] },
  );
  const filterDefs = { $defs: { leaf, and } };
  const words = { type: "string", pattern: "^[A-Z]+-[0-9]+$" };
  const digits = { type: "string", pattern: "^[0-9]+$" };
  const deep = nested(40);

  it.each<[what: string, property: JsonValue, value: JsonValue, more?: JsonObject]>([
    ["a pattern below not", { type: "string", not: { pattern: "^tmp-" } }, "a1"],
    ["a format below not", { type: "string", not: { format: "date" } }, "a1"],
    ["a pattern below two nots", { not: { not: digits } }, "12"],
    ["one of two patterns", { oneOf: [digits, words] }, "ABC-1"],
    ["the other of two patterns", { oneOf: [digits, words] }, "12"],
    [
      "one of two patterns beside alternatives",
      { oneOf: [digits, words], anyOf: [{ minLength: 1 }, { type: "null" }] },
      "12",
    ],
    [
      "one of two unknown references",
      { oneOf: [{ $ref: "http://a.test/b" }, { $ref: "#/none" }] },
      5,
    ],
    [
      "one of two enumerations that are too long",
      { oneOf: [{ enum: manyNames(501) }, { type: "string", maxLength: 1 }] },
      "a",
    ],
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    ["a condition with a pattern", { if: digits, then: { minLength: 5 }, else: true }, "b"],
    [
      "unique items at most once",
      { contains: { uniqueItems: true, type: "array" }, maxContains: 1 },
      [[1, 1], [2]],
    ],
    [
      "alternatives that hold themselves",
      { oneOf: [{ $ref: "#/$defs/leaf" }, { $ref: "#/$defs/and" }] },
      { type: "and", filters: [{ type: "eq", key: "a" }] },
      filterDefs,
    ],
    [
      "no circle",
      { not: { $ref: "#/$defs/loop" } },
      1,
      { $defs: { loop: { $ref: "#/$defs/loop" } } },
    ],
    [
      "names by a pattern alone",
      object({ id: true }, { patternProperties: { "^x-": true }, additionalProperties: false }),
      { id: 1, "x-team": "a" },
    ],
    [
      "names by a pattern, and others of a type",
      {
        patternProperties: { "^x-": { type: "string" } },
        additionalProperties: { type: "number" },
      },
      { id: 1, "x-team": "a" },
    ],
    [
      "names by a pattern within, and no others",
      {
        allOf: [object({ id: true }, { patternProperties: { "^x-": true } })],
        unevaluatedProperties: false,
      },
      { id: 1, "x-team": "a" },
    ],
    [
      "names by a reference, and no others",
      { $ref: "http://a.test/b", unevaluatedProperties: false },
      { id: 1 },
    ],
    ["a constant that is too deep", { const: deep }, deep],
    ["an enumeration that is too deep", { enum: [deep] }, deep],
  ])("accepts what the tool server accepts where it cannot check all of it: %s", (...row) => {
    const [, property, value, more] = row;
    expect(faultOf(object({ property }, more), { property: value })).toBeUndefined();
  });

  it("refuses what it can, beside what it cannot check", () => {
    const schema = object({
      property: { type: "string", not: { const: "a" }, oneOf: [digits, { const: "a" }] },
      closed: object({ id: { pattern: "a" } }, { additionalProperties: false }),
      one: { oneOf: [{ type: "number" }, { minimum: 5 }] },
    });
    expect(faultOf(schema, { property: "a" })).toContain("'property' must NOT be valid");
    expect(faultOf(schema, { closed: { other: 1 } })).toContain("'closed.other' is unknown");
    expect(faultOf(schema, { one: 7 })).toContain("exactly one");
    const open = { patternProperties: { a: true }, additionalProperties: true };
    expect(cleanProperty(open)).toEqual({ additionalProperties: true });
  });

  it("has what references refer to in their place", () => {
    const $defs = {
      size: { type: "integer" },
      "a/b": { enum: ["x"] },
      of: { $ref: "#/$defs/size" },
    };
    expect(cleanProperty({ $ref: "#/$defs/size" }, { $defs })).toEqual({ type: "integer" });
    expect(cleanProperty({ $ref: "#/$defs/of" }, { $defs })).toEqual({ type: "integer" });
    expect(cleanProperty({ $ref: "#/$defs/a~1b" }, { $defs })).toEqual({ enum: ["x"] });
    expect(cleanProperty({ $ref: "#/%24defs/size" }, { $defs })).toEqual({ type: "integer" });
    expect(cleanProperty({ $ref: "#/$defs/size", title: "Size" }, { $defs })).toEqual({
      title: "Size",
      allOf: [{ type: "integer" }],
    });
  });

  it("has an end where its references turn in circles", () => {
    const tree = object({ left: { $ref: "#/$defs/tree" } });
    expect(cleanProperty({ $ref: "#/$defs/tree" }, { $defs: { tree } })).toEqual(
      object({ left: true }),
    );
    expect(cleanProperty({ $ref: "#" })).toEqual(object({ property: true }));
    const $defs = { loop: { $ref: "#/$defs/loop" } };
    expect(cleanProperty({ $ref: "#/$defs/loop" }, { $defs })).toBe(true);
    const schema = object({ property: { $ref: "#/$defs/tree" } }, { $defs: { tree } });
    expect(faultOf(schema, { property: { left: { left: 7 } } })).toBeUndefined();
    expect(faultOf(schema, { property: 7 })).toContain("must be object");
  });

  it("accepts any object where references would multiply it without end", () => {
    const $defs: Record<string, JsonValue> = { level0: { type: "string" } };
    for (let level = 1; level < 40; level += 1) {
      const below = { $ref: `#/$defs/level${level - 1}` };
      $defs[`level${level}`] = { anyOf: Array.from({ length: 20 }, () => below) };
    }
    const schema = object({ all: { $ref: "#/$defs/level39" } }, { $defs });
    expect(cleanInputSchema(schema)).toEqual({ type: "object" });
  });

  it("accepts anything in what is too deep, and any object where it is too large", () => {
    expect(cleanInputSchema(nested(31))).toEqual(nested(31));
    const cut = JSON.stringify(cleanInputSchema(nested(1_000)));
    expect(cut).toBe(JSON.stringify(nested(32, true)));
    expect(cleanProperty({ default: nested(100) })).toEqual({
      default: expect.objectContaining({ type: "object" }),
    });
    const long = object({ a: { description: "x".repeat(65_536) } });
    expect(cleanInputSchema(long)).toEqual({ type: "object" });
    const wide = Object.fromEntries(Array.from({ length: 5_001 }, (_, index) => [index, true]));
    expect(JSON.stringify(cleanInputSchema(object(wide)))).toHaveLength(
      JSON.stringify(object(wide)).length,
    );
  });

  it.each<readonly [string, JsonObject]>([
    ["a description", { description: "a".repeat(30_000) }],
    ["a default", { default: new Array(20_000).fill(0) }],
    ["examples", { examples: [{ a: new Array(20_000).fill(null) }] }],
    ["an enumeration", { enum: [new Array(20_000).fill("")] }],
    ["a constant", { const: new Array(20_000).fill([]) }],
    ["required names", { required: [...new Array(20_000).fill(""), 7] }],
    ["a pattern", { description: "b".repeat(30_000), pattern: "a" }],
    ["dependent names", { dependentRequired: { a: new Array(20_000).fill("a") } }],
    ["properties", { properties: Object.fromEntries(manyNames(9_000).map((name) => [name, 7])) }],
    ["alternatives", { anyOf: new Array(9_000).fill(7) }],
  ])("stops copying %s that references repeat as soon as it is too large", (_what, repeated) => {
    const reads = { count: 0 };
    const watched = watchReads(repeated, reads);
    const properties = Object.fromEntries(
      manyNames(2_000).map((name) => [name, { $ref: "#/repeated" }]),
    );
    expect(cleanInputSchema(object(properties, { repeated: watched }))).toEqual({ type: "object" });
    // Each copy reads its keyword; a thousand copies would be more than 64 KiB.
    expect(reads.count).toBeLessThan(20);
  });

  it("is not kept from its end by keywords that it does not know, or by long references", () => {
    const unknown = Object.fromEntries(manyNames(50_000).map((name) => [name, 1]));
    expect(cleanProperty({ ...unknown, type: "string" })).toEqual({ type: "string" });
    const long = `#/${"a/".repeat(40_000)}`;
    expect(cleanInputSchema(object({ property: { $ref: long } }))).toEqual({ type: "object" });
  });

  it("is clean in its texts and names, which a database can store", () => {
    const dirty = "a\u0000\u001b[31m\ud800b\u202e";
    const schema = object({ [dirty]: { description: dirty, enum: [dirty], default: [dirty] } });
    expect(cleanInputSchema({ ...schema, required: [dirty] })).toEqual({
      ...object({ ab: { description: "ab", enum: ["ab"], default: ["ab"] } }),
      required: ["ab"],
    });
  });
});
