import { expect, it } from "vitest";
import { escapeLike } from "../../src/db/escape-like.ts";

it("A pattern of SQL's LIKE made of a text has no wildcard left", () => {
  expect(escapeLike("50%_off\\now")).toBe("50\\%\\_off\\\\now");
  expect(escapeLike("plain")).toBe("plain");
});
