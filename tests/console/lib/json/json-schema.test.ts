import { describe, expect, it } from "vitest";
import { describeSchema } from "../../../../src/console/lib/json/describe-schema.ts";
import { type JsonSchema, shapeOf } from "../../../../src/console/lib/json/json-schema.ts";
import { shownPath } from "../../../../src/console/lib/json/schema-path.ts";
import {
  initialValue,
  limitsOf,
  variantOf,
  withField,
} from "../../../../src/console/lib/json/schema-value.ts";

const kindOf = (schema: JsonSchema, root = schema) => shapeOf(schema, root).kind;

describe("the field of a schema", () => {
  it("follows from its type, its choices and its alternatives", () => {
    expect(kindOf({ type: "string" })).toBe("text");
    expect(kindOf({ type: "integer" })).toBe("number");
    expect(kindOf({ type: "boolean" })).toBe("boolean");
    expect(kindOf({ enum: ["a", "b"] })).toBe("choice");
    expect(kindOf({ const: 1 })).toBe("choice");
    expect(kindOf({ type: "array", items: { type: "string" } })).toBe("list");
    expect(kindOf({ properties: { a: {} } })).toBe("object");
    expect(kindOf({ type: "object", additionalProperties: { type: "string" } })).toBe("map");
    expect(kindOf({ anyOf: [{ type: "string" }, { type: "object" }] })).toBe("variants");
    expect(kindOf({ type: ["string", "number"] })).toBe("variants");
  });

  it("is JSON where no simple field fits, whatever the schema holds", () => {
    const many = Array.from({ length: 300 }, (_, index) => [`p${index}`, {}]);
    const loop = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } };
    for (const schema of [
      {},
      { type: "object" },
      { type: "array" },
      { type: "array", prefixItems: [{}], items: { type: "string" } },
      { properties: Object.fromEntries(many) },
      { $ref: "https://elsewhere.example/schema" },
      { type: "strange" },
      { anyOf: "no list" },
      loop,
    ]) {
      expect([schema, kindOf(schema)]).toEqual([schema, "json"]);
    }
  });

  it("ends for schemas that hold themselves without a name between", () => {
    for (const own of [
      { anyOf: [{ $ref: "#/$defs/a" }] },
      { anyOf: [{ $ref: "#/$defs/a" }, { type: "string" }] },
      { type: "array", items: { $ref: "#/$defs/a" } },
      { type: "object", additionalProperties: { $ref: "#/$defs/a" } },
    ]) {
      const root = {
        type: "object",
        properties: { a: { $ref: "#/$defs/a" } },
        required: ["a"],
        $defs: { a: own },
      };
      expect(shapeOf({ $ref: "#/$defs/a" }, root).kind).toEqual(expect.any(String));
      expect(JSON.stringify(initialValue(root, root)).length).toBeLessThan(100);
      const [line] = describeSchema(root);
      expect(line?.type.length).toBeLessThan(100);
    }
  });

  it("may be null beside its type, and is that of a definition", () => {
    const root = { $defs: { name: { type: "string", maxLength: 20 } } };
    const schema = { anyOf: [{ $ref: "#/$defs/name" }, { type: "null" }] };
    expect(shapeOf(schema, root)).toMatchObject({ kind: "text", isShort: true, isNullable: true });
    expect(shapeOf({ type: ["integer", "null"] }, {})).toMatchObject({
      kind: "number",
      isNullable: true,
    });
    const both = { allOf: [{ properties: { a: {} } }, { properties: { b: {} }, required: ["b"] }] };
    expect(shapeOf(both, both)).toMatchObject({
      fields: [
        { name: "a", isRequired: false },
        { name: "b", isRequired: true },
      ],
    });
  });

  it("tells its limits in words", () => {
    expect(limitsOf({ minimum: 1, maximum: 200, default: 10 }, {})).toEqual([
      "1 to 200",
      "default 10",
    ]);
    expect(limitsOf({ minLength: 1, maxLength: 1_000 }, {})).toEqual(["at most 1,000 characters"]);
    expect(limitsOf({ maximum: Number.MAX_SAFE_INTEGER, minItems: 2, maxItems: 2 }, {})).toEqual([
      "exactly 2 items",
    ]);
  });
});

describe("the value of a form", () => {
  const schema = {
    type: "object",
    properties: {
      sql: { type: "string" },
      rows: { type: "integer", default: 100 },
      wait: { type: "boolean" },
      of: { $ref: "#" },
    },
    required: ["sql", "rows"],
  };

  it("begins with what is required, and ends where a schema holds itself", () => {
    expect(initialValue(schema, schema)).toEqual({ sql: "", rows: 100 });
    const endless = { ...schema, required: ["of"] };
    expect(JSON.stringify(initialValue(endless, endless)).length).toBeLessThan(200);
  });

  it("leaves out what is not set, and keeps the order of the rest", () => {
    expect(JSON.stringify(withField({ a: 1, b: 2, c: 3 }, "b", 4))).toBe('{"a":1,"b":4,"c":3}');
    expect(withField({ a: 1 }, "a", undefined)).toEqual({});
    expect(withField(undefined, "a", null)).toEqual({ a: null });
  });

  it("shows the alternative that it is of", () => {
    const variants = [
      { type: "string" },
      { properties: { kind: { const: "a" }, x: { type: "number" } }, required: ["kind"] },
      { properties: { kind: { const: "b" }, x: { type: "number" } }, required: ["kind"] },
    ];
    expect(variantOf("text", variants, {})).toBe(0);
    expect(variantOf({ kind: "a", x: 1 }, variants, {})).toBe(1);
    expect(variantOf({ kind: "b", x: 1 }, variants, {})).toBe(2);
  });
});

describe("the place of a fault", () => {
  const schema = {
    type: "object",
    properties: {
      "a.b": { type: "string" },
      by: { type: "array", items: { type: "string" } },
      values: {
        type: "object",
        additionalProperties: { properties: { op: { enum: ["sum"] } } },
      },
      any: {},
    },
  };
  const value = { by: ["x"], values: { revenue: { op: "sum" } }, any: { deep: 1 } };

  it("is the field that it names, or the nearest around it", () => {
    for (const [path, shown] of [
      ["by[0]", "by[0]"],
      ["by.0", "by[0]"],
      ["by[7]", "by"],
      ["values.revenue.op", "values.revenue.op"],
      ["values.other.op", "values"],
      ["a.b", "a.b"],
      ["any.deep[3].x", "any"],
      ["unknown", ""],
      ["byte", ""],
    ] as const) {
      expect([path, shownPath(path, { schema, value })]).toEqual([path, shown]);
    }
  });
});
