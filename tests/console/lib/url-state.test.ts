import { describe, expect, it } from "vitest";
import {
  changeState,
  parseSearch,
  readNext,
  readState,
  stringifySearch,
} from "../../../src/console/lib/url-state.ts";

const DEFAULTS = { search: "", state: "", sort: "-created_at" };

describe("the state in the address", () => {
  it("is read as texts, with the defaults of the view", () => {
    const search = parseSearch("?state=active&limit=1&other=x");
    expect(search).toEqual({ state: "active", limit: "1", other: "x" });
    expect(readState(search, DEFAULTS)).toEqual({
      search: "",
      state: "active",
      sort: "-created_at",
    });
  });

  it("names nothing that has its default, and keeps what others set", () => {
    const changed = changeState({ state: "active", zone: "utc" }, DEFAULTS, {
      state: "",
      search: "ada",
    });
    expect(changed).toEqual({ zone: "utc", search: "ada" });
    expect(stringifySearch(changed)).toBe("?zone=utc&search=ada");
    expect(stringifySearch({})).toBe("");
  });

  it("keeps any character", () => {
    const state = { search: "a&b=c #1 ü" };
    expect(parseSearch(stringifySearch(state))).toEqual(state);
  });
});

describe("where to go after a login", () => {
  it.each([
    ["/console/keys?state=active", "/console/keys?state=active"],
    ["/console/", "/console/"],
    ["/v1/models", undefined],
    ["//evil.example/console/", undefined],
    ["/\\evil.example/console/", undefined],
    ["https://evil.example/console/", undefined],
    ["/console/../../evil", undefined],
    [undefined, undefined],
  ])("%s leads to %s", (next, path) => expect(readNext(next, "/console/")).toBe(path));
});
