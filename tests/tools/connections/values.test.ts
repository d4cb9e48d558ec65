import { describe, expect, it } from "vitest";
import { json } from "../../../src/tools/connections/drivers/values.ts";

describe("The JSON of a database", () => {
  it("keeps all digits of large integers", () => {
    expect(json('{"id":9007199254740993,"n":[1,2.5]}')).toEqual({
      id: "9007199254740993",
      n: [1, 2.5],
    });
  });

  it("is text where it is none", () => {
    expect(json("{")).toBe("{");
  });
});
