import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { publishedNames } from "../../../src/tools/servers/published-names.ts";

const hashOf = (name: string) => createHash("sha256").update(name).digest("hex").slice(0, 8);
const of = (...tools: readonly string[]) => Object.fromEntries(publishedNames("web", tools));

describe("the names of a tool server's tools", () => {
  it("are mcp_<server>_<tool>", () => {
    expect(of("search", "read-page", "A_1")).toEqual({
      search: "mcp_web_search",
      "read-page": "mcp_web_read-page",
      A_1: "mcp_web_A_1",
    });
  });

  it("have _ for each character that models may not get", () => {
    expect(of("web.search", "größe/🚀")).toEqual({
      "web.search": "mcp_web_web_search",
      "größe/🚀": "mcp_web_gr__e__",
    });
  });

  it("are cut above 64 characters, and end with the hash of the server's own name", () => {
    const [fits, long, longer] = ["a".repeat(56), "a".repeat(57), `${"a".repeat(90)}b`];
    expect(of(fits, long, longer)).toEqual({
      [fits]: `mcp_web_${fits}`,
      [long]: `mcp_web_${"a".repeat(47)}_${hashOf(long)}`,
      [longer]: `mcp_web_${"a".repeat(47)}_${hashOf(longer)}`,
    });
    for (const name of Object.values(of(fits, long, longer))) expect(name).toHaveLength(64);
  });

  it("that are published as they are written keep their name; those that become the same get the hash", () => {
    expect(of("a.b", "a/b", "a_b", "c.d")).toEqual({
      "a.b": `mcp_web_a_b_${hashOf("a.b")}`,
      "a/b": `mcp_web_a_b_${hashOf("a/b")}`,
      a_b: "mcp_web_a_b",
      "c.d": "mcp_web_c_d",
    });
  });

  it("do not depend on the order of the tools", () => {
    const tools = ["a.b", "a/b", "a_b", "x".repeat(80), "y y"];
    expect(of(...[...tools].reverse())).toEqual(of(...tools));
  });

  it("never take the name of another tool: one for which none is left has no name", () => {
    const squatter = `a_b_${hashOf("a.b")}`;
    expect(of("a.b", "a_b", squatter)).toEqual({
      a_b: "mcp_web_a_b",
      [squatter]: `mcp_web_${squatter}`,
    });
  });

  it("are those that models may get, whatever the server calls its tools", () => {
    const tools = [
      "",
      " ",
      "\n",
      "a\0b",
      "ﷺ".repeat(100),
      "__proto__",
      "constructor",
      "../..",
      "🚀",
    ];
    const names = [...publishedNames("a-server-of-20-chars", tools).values()];
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^mcp_a-server-of-20-chars_[\w-]*$/);
    for (const name of names) expect(name.length).toBeLessThanOrEqual(64);
  });
});
