import { describe, expect, it } from "vitest";
import { runTool } from "../../src/tools/run-tool.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { createToolFigures } from "../../src/tools/tool-figures.ts";
import { testTool } from "../support/stages/assistant-stage.ts";
import { keyCaller, testAssistant } from "../support/stages/assistants.ts";

const { countCall, metrics } = createToolFigures(["search"]);
const counts = () =>
  (metrics[0]?.read() ?? []).map(({ labels, value }) => [labels["tool"], labels["outcome"], value]);
const run = (tool: Tool, signal = new AbortController().signal, args = "{}") => {
  const context = { caller: keyCaller("usr_1"), assistant: testAssistant(1), signal };
  return runTool(tool, args, context, {
    timeoutMs: 60_000,
    maxResultBytes: 1_000,
    onEnd: countCall,
  });
};

describe("svc_tool_calls_total", () => {
  it("counts each call once, by how it ended, and all tools of tool servers together", async () => {
    expect(counts().every(([, , value]) => value === 0)).toBe(true);
    await run(testTool("search", async () => ({ text: "found" })));
    await run(testTool("search", async () => ({ text: "", isError: true })));
    await run(
      testTool("search", async () => ({ text: "never run" })),
      undefined,
      "no object",
    );
    await run(testTool("mcp_crm_find", async () => ({ text: "found" })));
    const gone = AbortSignal.abort(new Error("the client left"));
    await expect(
      run(
        testTool("mcp_crm_list", async () => ({ text: "" })),
        gone,
      ),
    ).rejects.toThrow();
    expect(counts()).toEqual([
      ["search", "ok", 1],
      ["search", "error", 2],
      ["search", "aborted", 0],
      ["tool_server", "ok", 1],
      ["tool_server", "error", 0],
      ["tool_server", "aborted", 1],
    ]);
  });
});
