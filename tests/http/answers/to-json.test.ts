import { z } from "@hono/zod-openapi";
import { describe, expect, it } from "vitest";
import { toJson, toRecord } from "../../../src/http/answers/to-json.ts";
import { orNull, time, unixTime } from "../../../src/http/fields.ts";

const thing = z.object({
  object: z.literal("thing"),
  last_four: z.string(),
  created_at: time,
  used_at: unixTime.nullable(),
  note: z.string().optional(),
  limits: z.object({ per_minute: z.int().nullable() }),
  parts: z.array(z.object({ part_name: z.string() })),
  owner: orNull(z.object({ user_name: z.string(), made_at: time })),
  successor: orNull(z.object({ user_name: z.string() })),
  scope: z.object({ sql_names: z.array(z.string()) }).readonly(),
});

describe("a record as JSON", () => {
  const record = {
    lastFour: "q7Zf",
    createdAt: new Date(0),
    usedAt: 1_000,
    limits: { perMinute: null },
    parts: [{ partName: "first" }],
    owner: { userName: "a", madeAt: new Date(0), passwordHash: "hash" },
    successor: null,
    scope: { sql_names: ["a"] },
  };

  it("has the fields of its schema, by their names, with times as text", () => {
    expect(toJson(thing, record)).toEqual({
      object: "thing",
      last_four: "q7Zf",
      created_at: "1970-01-01T00:00:00.000Z",
      used_at: "1970-01-01T00:00:01.000Z",
      limits: { per_minute: null },
      parts: [{ part_name: "first" }],
      owner: { user_name: "a", made_at: "1970-01-01T00:00:00.000Z" },
      successor: null,
      scope: { sql_names: ["a"] },
    });
  });

  it("shows nothing that the schema does not name", () => {
    const secret = { ...record, keyHash: "hash", usedAt: null };
    expect(JSON.stringify(toJson(thing, secret))).not.toContain("hash");
    expect(toJson(thing, secret)["used_at"]).toBeNull();
  });
});

it("what a client sent gets the names of records, its outermost ones", () => {
  const sent = { ip_allow: ["::1"], tool_scope: { sql_connections: [] }, name: "a" };
  expect(toRecord(sent)).toEqual({
    ipAllow: ["::1"],
    toolScope: { sql_connections: [] },
    name: "a",
  });
});
