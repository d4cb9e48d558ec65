import { describe, expect, it } from "vitest";
import { withObjectProperties } from "../../../src/lib/json/object-properties.ts";

describe("A schema with objects for properties", () => {
  it("has them at every depth, and means the same", () => {
    expect(
      withObjectProperties({
        type: "object",
        properties: {
          value: true,
          never: false,
          list: { type: "array", items: { properties: { inner: true } } },
          properties: { anyOf: [true, { type: "string" }], additionalProperties: true },
        },
        additionalProperties: false,
        $defs: { any: true },
      }),
    ).toEqual({
      type: "object",
      properties: {
        value: {},
        never: { not: {} },
        list: { type: "array", items: { properties: { inner: {} } } },
        properties: { anyOf: [{}, { type: "string" }], additionalProperties: true },
      },
      additionalProperties: false,
      $defs: { any: {} },
    });
  });

  it("is the schema itself where nothing is to change, and values are no schemas", () => {
    const schema = {
      type: "object",
      properties: {
        options: {
          default: { properties: { on: true } },
          enum: [{ properties: { on: true } }, true],
          items: true,
        },
        "": { type: "null" },
      },
    };
    expect(withObjectProperties(schema)).toBe(schema);
  });

  it("keeps a property whose name is one of an object's own", () => {
    const schema = JSON.parse('{"properties": {"__proto__": true, "constructor": true}}');
    const { properties } = withObjectProperties(schema);
    expect(JSON.stringify(properties)).toBe('{"__proto__":{},"constructor":{}}');
  });
});
