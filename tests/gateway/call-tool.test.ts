import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ServiceError } from "../../src/core/service-error.ts";
import { callTool } from "../../src/gateway/call-tool.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { AssistantStage, testTool, UNLIMITED } from "../support/stages/assistant-stage.ts";
import { keyCaller, sessionCaller } from "../support/stages/assistants.ts";

let stage: AssistantStage;
beforeAll(async () => {
  stage = await AssistantStage.open();
});
beforeEach(() => stage.reset());
afterAll(() => stage.close());

const NEVER = new Promise<never>(() => undefined);
const greet = testTool("greet", async () => ({ text: "hello" }));

/** Calls a tool of the one assistant without HTTP. */
function call(tool: Tool, args = {}, change: Partial<Parameters<typeof callTool>[1]> = {}) {
  const assistant = stage.assistant();
  const caller = { ...keyCaller("usr_1", assistant.id), keyId: stage.keyId, limits: UNLIMITED };
  const client = {
    requestId: stage.requestId,
    caller,
    channel: "mcp" as const,
    startedAt: systemClock.now(),
    signal: stage.client.signal,
    ...change,
  };
  return callTool(stage.gateway, client, { tool, assistant, args: JSON.stringify(args) });
}

describe("A call of a tool by /mcp", () => {
  it("is one row with the tool's name, its assistant and no tokens, and counts as a request", async () => {
    const { result } = await call(greet);
    expect(await result).toEqual({ text: "hello" });
    expect(await stage.row()).toEqual({
      model: "",
      outcome: "ok",
      status: 200,
      input_tokens: 0,
      output_tokens: 0,
      estimated: false,
      assistant_id: stage.assistant().id,
      tool_name: "greet",
    });
    expect(await stage.use()).toEqual({ tokens: 0, reserved: 0, requests: 1 });
  });

  it("that was answered with a failure has the outcome error and the status that the client saw", async () => {
    const failing = testTool("failing", async () => {
      throw new ServiceError("not_found", "There is no such file.");
    });
    const { result } = await call(failing);
    expect(await result).toEqual({
      text: "Tool 'failing': There is no such file.",
      isError: true,
    });
    expect(await stage.row()).toMatchObject({
      outcome: "error",
      status: 200,
      tool_name: "failing",
      estimated: false,
    });
  });

  it("with a wrong argument is an error, too, and the tool does not run", async () => {
    let runs = 0;
    const typed = testTool("typed", async () => {
      runs += 1;
      return { text: "" };
    });
    const { result } = await call(typed, { of: 7 });
    expect(await result).toEqual({
      text: "Tool 'typed': argument 'of' must be string, got integer.",
      argument: "of",
      isError: true,
    });
    expect([runs, (await stage.row())?.["outcome"]]).toEqual([0, "error"]);
  });

  it("beyond the time limit is an answer that says so", async () => {
    stage.settings = { TOOL_TIMEOUT_MS: 20 };
    const { result } = await call(testTool("slow", () => NEVER));
    expect(await result).toMatchObject({ isError: true, text: /longer than 20 ms/ });
  });

  it("ends at once when its client leaves, whatever the tool does", async () => {
    let isEnded = false;
    const deaf = testTool("deaf", (_, { signal }) => {
      signal.addEventListener("abort", () => (isEnded = true));
      setImmediate(() => stage.client.abort());
      return NEVER;
    });
    const { result } = await call(deaf);
    await expect(result).rejects.toBeDefined();
    expect(isEnded).toBe(true);
    expect(await stage.row()).toMatchObject({ outcome: "aborted", status: 499, tool_name: "deaf" });
    expect((await stage.use()).reserved).toBe(0);
  });

  it.each([
    [{ requests: 0 }, "request_limit_exceeded"],
    [{ requestsPerMinute: 0 }, "rate_limit_exceeded"],
    [{ tokens: 0 }, "token_limit_exceeded"],
    [{ monthlyTokens: 0 }, "monthly_limit_exceeded"],
  ])("is refused with 429 where a limit is %j, and leaves no row", async (limit, code) => {
    let runs = 0;
    const counted = testTool("counted", async () => {
      runs += 1;
      return { text: "" };
    });
    const caller = {
      ...keyCaller("usr_1"),
      keyId: stage.keyId,
      limits: { ...UNLIMITED, ...limit },
    };
    await expect(call(counted, {}, { caller })).rejects.toMatchObject({ code, status: 429 });
    expect([runs, await stage.row()]).toEqual([0, undefined]);
  });

  it("of a session has no row", async () => {
    const { result } = await call(greet, {}, { caller: sessionCaller("usr_1") });
    expect((await result).text).toBe("hello");
    expect(await stage.row()).toBe(undefined);
  });
});
