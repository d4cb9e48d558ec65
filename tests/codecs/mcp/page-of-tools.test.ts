import { describe, expect, it } from "vitest";
import { pageOfTools } from "../../../src/codecs/mcp/read-params.ts";

const named = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `tool_${String(index).padStart(4, "0")}` }));

describe("A page of tools", () => {
  it("is the whole list up to 200 tools, without a cursor", () => {
    for (const count of [0, 1, 200]) {
      expect(pageOfTools(named(count), {})).toEqual({ tools: named(count) });
    }
  });

  it("leads to the next one, and every tool stands on exactly one", () => {
    const tools = named(450);
    const seen: string[] = [];
    const sizes: number[] = [];
    let cursor: string | undefined;
    do {
      const page = pageOfTools(tools, cursor === undefined ? {} : { cursor });
      seen.push(...page.tools.map(({ name }) => name));
      sizes.push(page.tools.length);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(sizes).toEqual([200, 200, 50]);
    expect(seen).toEqual(tools.map(({ name }) => name));
  });

  it("is shifted by no tool that goes meanwhile", () => {
    const tools = named(300);
    const { nextCursor = "" } = pageOfTools(tools, {});
    const fewer = tools.filter(({ name }) => name !== "tool_0007" && name !== "tool_0199");
    expect(pageOfTools(fewer, { cursor: nextCursor }).tools[0]).toEqual({ name: "tool_0200" });
  });

  it.each([[""], ["x"], ["YWZ0ZXI6"], [7], [null], [{}], ["a".repeat(5_000)]])(
    "is refused for the cursor %j",
    (cursor) => {
      expect(() => pageOfTools(named(3), { cursor })).toThrow(
        expect.objectContaining({ code: -32602 }),
      );
    },
  );
});
