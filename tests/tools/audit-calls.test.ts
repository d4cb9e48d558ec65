import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ServiceError } from "../../src/core/service-error.ts";
import { createCallAudit } from "../../src/tools/audit-calls.ts";
import { runTool } from "../../src/tools/run-tool.ts";
import { testTool } from "../support/stages/assistant-stage.ts";
import { keyCaller, testAssistant } from "../support/stages/assistants.ts";
import { type BoundKey, McpStage } from "../support/stages/tools/mcp-stage.ts";
import { silentLog } from "../support/stages/usage/usage-journal.ts";

describe("The audit log", () => {
  let stage: McpStage;
  let bound: BoundKey;
  let made = 0;
  let name: string;

  beforeAll(async () => {
    stage = await McpStage.open();
    bound = await stage.bindKey();
  });
  beforeEach(() => {
    made += 1;
    name = `save_${made}`;
    stage.tools.splice(0);
  });
  afterAll(() => stage?.close());

  const entries = async (count: number) => {
    await expect
      .poll(async () => (await stage.audited(name)).length, { timeout: 10_000 })
      .toBe(count);
    return stage.audited(name);
  };

  it("has a call of /mcp above read_only before it runs, and then its outcome, without arguments", async () => {
    let before: readonly unknown[] = [];
    stage.tools.push(
      testTool(
        name,
        async () => {
          before = await stage.audited(name);
          return { text: "saved" };
        },
        { level: "write" },
      ),
    );
    const { body } = await stage.call(bound.key, name, { of: "a secret argument" });
    expect(body.result.isError).toBe(false);
    const details = { assistant_id: bound.assistantId, level: "write" };
    const entry = {
      via: "key",
      credential_id: bound.id,
      actor: { name: "admin" },
      address: expect.any(String),
      request_id: expect.stringMatching(/^req_/),
      target: { kind: "tool", id: name },
    };
    expect(before).toMatchObject([{ ...entry, action: "tool.call", details }]);
    const all = await entries(2);
    expect(all[1]).toMatchObject({
      ...entry,
      action: "tool.finish",
      details: { ...details, outcome: "ok" },
    });
    expect(JSON.stringify(all)).not.toContain("secret argument");
  });

  it("has a call in a chat, with the session or the key that asked", async () => {
    const failing = async () => {
      throw new ServiceError("not_found", "There is no such thing.");
    };
    stage.tools.push(testTool(name, failing, { level: "full_auto" }));
    for (const [credential, via] of [
      [bound.key, "key"],
      [stage.token, "session"],
    ] as const) {
      stage.simulator.reset();
      stage.simulator.script(
        { toolCalls: [{ name, arguments: {} }], finishReason: "tool_calls" },
        { text: "It failed." },
      );
      const response = await fetch(`${stage.served.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
        body: JSON.stringify({
          model: bound.assistantId,
          messages: [{ role: "user", content: "Save it." }],
        }),
      });
      expect(response.status).toBe(200);
      const all = await entries(via === "key" ? 2 : 4);
      expect(all.slice(-2)).toMatchObject([
        { action: "tool.call", via, request_id: response.headers.get("x-request-id") },
        { action: "tool.finish", via, details: { outcome: "error", level: "full_auto" } },
      ]);
    }
  });

  it("has no call that only reads, and none whose arguments were wrong", async () => {
    stage.tools.push(testTool(name, async () => ({ text: "read" })));
    expect((await stage.call(bound.key, name)).body.result.isError).toBe(false);
    stage.tools.splice(0);
    stage.tools.push(testTool(name, async () => ({ text: "saved" }), { level: "write" }));
    expect((await stage.call(bound.key, name, { of: 7 })).body.result.isError).toBe(true);
    expect(await stage.audited(name)).toEqual([]);
  });
});

describe("A tool whose call cannot be audited", () => {
  const context = {
    caller: keyCaller("usr_1"),
    assistant: testAssistant(1),
    signal: new AbortController().signal,
  };
  const away = new ServiceError("storage_unavailable", "The database is away.");
  const { audit } = createCallAudit({ ask: () => Promise.reject(away) }, silentLog);
  const limits = { timeoutMs: 10_000, maxResultBytes: 65_536, audit };
  let runs = 0;
  const run = async () => {
    runs += 1;
    return { text: "done" };
  };
  beforeEach(() => {
    runs = 0;
  });

  it("does not run, and its result says why", async () => {
    const result = await runTool(testTool("save", run, { level: "write" }), {}, context, limits);
    expect(result).toEqual({
      isError: true,
      text: "Tool 'save': it was not run, because the audit log cannot record it now. Try again later.",
    });
    expect(runs).toBe(0);
  });

  it("runs nevertheless when it only reads: it waits for no database", async () => {
    const result = await runTool(testTool("find", run), {}, context, limits);
    expect([result.isError, runs]).toEqual([undefined, 1]);
  });

  it("does not run after its client has left meanwhile, and the log says so", async () => {
    const client = new AbortController();
    const outcomes: string[] = [];
    let record: () => void = () => undefined;
    const recorded = new Promise<void>((resolve) => {
      record = resolve;
    });
    const running = runTool(
      testTool("save", run, { level: "write" }),
      {},
      { ...context, signal: client.signal },
      {
        ...limits,
        audit: async () => {
          await recorded;
          return (outcome) => outcomes.push(outcome);
        },
      },
    );
    client.abort();
    await expect(running).rejects.toBeDefined();
    record();
    await expect.poll(() => outcomes, { timeout: 10_000 }).toEqual(["aborted"]);
    expect(runs).toBe(0);
  });
});
