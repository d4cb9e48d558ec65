import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkRequest } from "../../../src/codecs/shared/check-request.ts";

const schema = z.strictObject({
  name: z.string().optional(),
  new_password: z
    .string()
    .regex(/^.{8,}$/, "8 characters")
    .optional(),
  inner: z.strictObject({ depth: z.number().optional() }).optional(),
});

function refusalOf(value: unknown, by: z.ZodType = schema) {
  try {
    checkRequest(by, value);
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

  it("is read no further than to its first fault, however many it has", () => {
    let checked = 0;
    const never = z.custom((value) => {
      checked += 1;
      return value === 0;
    }, "a zero");
    const deep = z.object({
      turns: z.array(z.object({ parts: z.union([z.string(), z.array(never)]) })),
    });
    const turn = { parts: [0, ...Array.from({ length: 1_000 }, () => 1)] };
    const turns = Array.from({ length: 1_000 }, () => turn);
    expect(refusalOf({ turns }, deep)).toMatchObject({ param: "turns[0].parts[1]" });
    expect(checked).toBeLessThan(10);
  });

  it("needs a field that may hold anything, but has to be there", () => {
    const loose = z.looseObject({ anything: z.unknown() });
    expect(refusalOf({}, loose)).toMatchObject({ param: "anything" });
    expect(() => checkRequest(loose, { anything: null, more: 1 })).not.toThrow();
  });

  it("is refused for a missing field, and for what its fields are only together", () => {
    const loose = z.looseObject({ from: z.number(), to: z.number().nullish() });
    expect(() => checkRequest(loose, { from: 2, to: null, other: "kept" })).not.toThrow();
    expect(refusalOf({ to: 1 }, loose)).toMatchObject({ param: "from" });
    expect(refusalOf({ from: 2, to: "3" }, loose)).toMatchObject({ param: "to" });
    const inOrder = loose.refine(({ from, to }) => to == null || from < to, "expected an order");
    expect(refusalOf({ from: 2, to: 1 }, inOrder).message).toMatch(/expected an order/);
    const numbers = z.object({ first: z.number() }).catchall(z.number());
    expect(refusalOf({ first: 1, second: "2" }, numbers)).toMatchObject({ param: "second" });
  });
});
