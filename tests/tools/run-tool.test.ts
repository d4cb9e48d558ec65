import { describe, expect, it } from "vitest";
import { ServiceError } from "../../src/core/service-error.ts";
import { cutResult, runTool } from "../../src/tools/run-tool.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { testTool } from "../support/stages/assistant-stage.ts";
import { keyCaller, testAssistant } from "../support/stages/assistants.ts";

const client = () => new AbortController();
const run = (tool: Tool, { signal } = client(), limits = {}) =>
  runTool(
    tool,
    "{}",
    { caller: keyCaller("usr_1"), assistant: testAssistant(1), signal },
    { timeoutMs: 60_000, maxResultBytes: 1_000, ...limits },
  );

describe("A call of a tool", () => {
  it("returns a failure that the tool explains, and hides any other", async () => {
    const explained = testTool("a", () =>
      Promise.reject(new ServiceError("not_found", "No such file.")),
    );
    expect(await run(explained)).toEqual({ text: "Tool 'a': No such file.", isError: true });
    const hidden: unknown[] = [];
    const thrown = new Error("password 1234");
    const broken = testTool("b", () => {
      throw thrown;
    });
    const onFailure = (name: string, error: unknown) => void hidden.push(name, error);
    const result = await run(broken, client(), { onFailure });
    expect(result).toEqual({
      text: "Tool 'b' failed. The operator finds the cause in the log.",
      isError: true,
    });
    expect(hidden).toEqual(["b", thrown]);
  });

  it("rejects with the reason of its signal, also before it begins", async () => {
    const controller = client();
    const reason = new Error("the client left");
    const never = testTool("a", () => new Promise(() => undefined));
    const running = run(never, controller);
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    let isRun = false;
    const other = testTool("b", async () => {
      isRun = true;
      return { text: "" };
    });
    await expect(run(other, controller)).rejects.toBe(reason);
    expect(isRun).toBe(false);
  });

  it("ends at its time, and tells the tool so", async () => {
    let isTold = false;
    const slow = testTool("slow", (_, { signal }) => {
      signal.addEventListener("abort", () => (isTold = true));
      return new Promise(() => undefined);
    });
    expect(await run(slow, client(), { timeoutMs: 1 })).toMatchObject({ isError: true });
    expect(isTold).toBe(true);
  });
});

describe("A long result", () => {
  it("is cut at any length without a broken character, and within the limit", () => {
    const text = "aä€😀".repeat(30);
    for (let limit = 1; limit < Buffer.byteLength(text) + 2; limit += 1) {
      const cut = cutResult(text, limit);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
      expect(cut).not.toContain("\ufffd");
      expect(text.startsWith(cut.split("\n[The result was cut")[0] ?? "")).toBe(true);
    }
    expect(cutResult(text, Buffer.byteLength(text))).toBe(text);
  });
});
