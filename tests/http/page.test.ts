import { z } from "@hono/zod-openapi";
import { describe, expect, it } from "vitest";
import { byOffset, page, readQuery, search } from "../../src/http/page.ts";

const query = page(
  { search: search("A part of the name."), state: z.enum(["on"]).optional() },
  byOffset,
);
const read = (text: string) =>
  readQuery(
    { req: { url: `http://gateway/list?${text}` } } as Parameters<typeof readQuery>[0],
    query,
  );

describe("the parameters of a list", () => {
  it("have defaults, also where one is empty", () => {
    expect(read("")).toEqual({ limit: 50, offset: 0 });
    expect(read("search=&limit=&offset=")).toEqual({ limit: 50, offset: 0 });
    expect(read("search=a%20b&state=on&limit=1000&offset=7")).toEqual({
      search: "a b",
      state: "on",
      limit: 1_000,
      offset: 7,
    });
  });

  it.each([
    ["limit=0", "limit", "at least 1"],
    ["limit=1001", "limit", "at most 1000"],
    ["limit=ten", "limit", "a text that is no number"],
    ["limit=1.5", "limit", "an integer|an int"],
    ["offset=-1", "offset", "at least 0"],
    ["offset=1e99", "offset", "expected"],
    ["state=off", "state", '"on"'],
    ["limit=5&limit=6", "limit", "one value"],
    ["search=a&search=b", "search", "one value"],
  ])("are refused by name when they are wrong or doubled: %s", (text, param, message) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        code: "invalid_value",
        param,
        message: expect.stringMatching(message),
      }),
    );
  });

  it.each(["limits=5", "__proto__=1", "constructor=1", "Search=a"])(
    "are refused by name when they do not exist: %s",
    (text) => {
      expect(() => read(text)).toThrow(
        expect.objectContaining({ code: "unsupported_parameter", param: text.split("=")[0] }),
      );
    },
  );
});
