import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkRequest } from "../../src/codecs/check-request.ts";

const schema = z.strictObject({
  name: z.string().optional(),
  new_password: z
    .string()
    .regex(/^.{8,}$/, "8 characters")
    .optional(),
  inner: z.strictObject({ depth: z.number().optional() }).optional(),
});

function refusalOf(value: unknown) {
  try {
    checkRequest(schema, value);
  } catch (thrown) {
    return thrown as { code: string; param: string; message: string };
  }
  throw new Error("it was let through");
}

describe("A request that is checked", () => {
  it("has no field that a strict schema does not know; what the field holds is not repeated", () => {
    expect(refusalOf({ passwrod: "canary" })).toMatchObject({
      code: "unsupported_parameter",
      param: "passwrod",
      message: "'passwrod' cannot be set here.",
    });
    expect(refusalOf({ inner: { role: "admin" } })).toMatchObject({ param: "inner.role" });
    expect(refusalOf({ ["x".repeat(5_000)]: 1 }).message.length).toBeLessThan(200);
  });

  it("has a secret of which not even the beginning is repeated", () => {
    expect(refusalOf({ new_password: "canary" })).toMatchObject({
      code: "invalid_value",
      param: "new_password",
      message: "'new_password' is invalid: expected 8 characters, received a string.",
    });
    expect(refusalOf({ new_password: 1234 }).message).toMatch(/received a number\.$/);
    expect(refusalOf({ name: 1234 }).message).toMatch(/received the number 1234\.$/);
  });
});
