import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { openCall } from "../../support/clients/call-gateway.ts";
import { scrapeMetrics } from "../../support/clients/scrape-metrics.ts";
import { testTool } from "../../support/stages/assistant-stage.ts";
import { type BoundKey, type Json, McpStage } from "../../support/stages/tools/mcp-stage.ts";

const KEEPALIVE_MS = "100";
const busy = new ServiceError("overloaded", "The gateway is overloaded.", { retryAfterSeconds: 2 });
const NEVER = new Promise<never>(() => undefined);

/** A promise that a test settles. */
function signalOf<Value = void>() {
  let settle: (value: Value) => void = () => undefined;
  const settled = new Promise<Value>((resolve) => {
    settle = resolve;
  });
  return { settle, settled };
}

describe("tools/call by /mcp", () => {
  let stage: McpStage;
  let bound: BoundKey;
  let isBusy = false;

  const use = (...tools: readonly Tool[]) => stage.tools.splice(0, stage.tools.length, ...tools);
  const message = (name: string, args: Json = {}) => ({
    jsonrpc: "2.0",
    id: "slow 1",
    method: "tools/call",
    params: { name, arguments: args },
  });

  beforeAll(async () => {
    const settings = { STREAM_KEEPALIVE_MS: KEEPALIVE_MS };
    stage = await McpStage.open(settings, (deps) => {
      const { callGate } = deps;
      const refusal: typeof callGate.refusal = (isOpen) =>
        isBusy ? busy : callGate.refusal(isOpen);
      return { ...deps, callGate: { ...callGate, refusal } };
    });
    bound = await stage.bindKey();
  });
  beforeEach(() => {
    stage.toolTimeoutMs = undefined;
    use(testTool("greet", async () => ({ text: "hello" })));
  });
  afterAll(() => stage?.close());

  describe("that takes long", () => {
    it("turns into an event stream of comments and one message", async () => {
      const ended = signalOf();
      use(
        testTool("slow", async () => {
          await ended.settled;
          return { text: "done\nat last" };
        }),
      );
      const key = await stage.bindKey({ request_limit: 5 }, bound.assistantId);
      const response = await stage.post(key.key, message("slow"));
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("4");
      expect(stage.served.deps.openCalls.streams()).toBe(1);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      while ((text.match(/^: keepalive$/gm)?.length ?? 0) < 3) {
        text += (await reader?.read())?.value ?? "";
      }
      ended.settle();
      for (let end = false; !end; ) {
        const step = await reader?.read();
        end = step?.done ?? true;
        text += step?.value ?? "";
      }
      const events = text.split("\n\n").filter((frame) => frame !== "" && !frame.startsWith(":"));
      expect(events).toEqual([expect.stringMatching(/^event: message\ndata: \{[^\n]*\}$/)]);
      expect(JSON.parse(events[0]?.split("data: ")[1] ?? "")).toEqual({
        jsonrpc: "2.0",
        id: "slow 1",
        result: { content: [{ type: "text", text: "done\nat last" }], isError: false },
      });
      expect(await stage.rows(key.id)).toMatchObject([
        { channel: "mcp", outcome: "ok", status: 200, tool_name: "slow" },
      ]);
      await expect.poll(() => stage.served.deps.openCalls.count(), { timeout: 10_000 }).toBe(0);
    });

    it("is JSON nevertheless for a client that reads no event streams", async () => {
      use(
        testTool("slow", async () => {
          await new Promise((resolve) => setTimeout(resolve, 3 * Number(KEEPALIVE_MS)));
          return { text: "done" };
        }),
      );
      const headers = { accept: "application/json" };
      const response = await stage.post(bound.key, message("slow"), { headers });
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.json()).toMatchObject({ result: { content: [{ text: "done" }] } });
    });

    it("is an error result in the stream beyond TOOL_TIMEOUT_MS", async () => {
      stage.toolTimeoutMs = 700;
      use(testTool("endless", () => NEVER));
      const response = await stage.post(bound.key, message("endless"));
      expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
      expect(await response.text()).toMatch(
        /"text":"Tool 'endless': The call of 'endless' took longer than 700 ms and was ended\."\}\],"isError":true/,
      );
    });

    it("is an error of the protocol in the stream when the server stops", async () => {
      const begun = signalOf();
      use(
        testTool("endless", () => {
          begun.settle();
          return NEVER;
        }),
      );
      const key = await stage.bindKey({}, bound.assistantId);
      const asked = stage.post(key.key, message("endless"));
      await begun.settled;
      const response = await asked;
      stage.served.deps.openCalls.abortAll(
        new ServiceError("overloaded", "The server is stopping; send the request again."),
      );
      expect(await response.text()).toMatch(
        /event: message\ndata: \{"jsonrpc":"2\.0","id":"slow 1","error":\{"code":-32603,"message":"The server is stopping/,
      );
      expect(await stage.rows(key.id)).toMatchObject([{ outcome: "error", status: 200 }]);
    });
  });

  describe("S06: whose client leaves", () => {
    it.each([
      ["before anything was answered", 499, "application/json"],
      ["while the stream is kept alive", 200, "application/json, text/event-stream"],
    ])("%s ends the tool, and its row is aborted", async (_, status, accept) => {
      const begun = signalOf();
      const ended = signalOf<number>();
      use(
        testTool("deaf", (_args, { signal }) => {
          signal.addEventListener("abort", () => ended.settle(performance.now()));
          begun.settle();
          return NEVER;
        }),
      );
      const key = await stage.bindKey({}, bound.assistantId);
      const client = await openCall(stage.port, {
        path: "/mcp",
        headers: { authorization: `Bearer ${key.key}`, accept },
        body: message("deaf"),
      });
      await begun.settled;
      if (status === 200) await client.readUntil((text) => text.includes(": keepalive"));
      const leftAt = performance.now();
      client.reset();
      expect((await ended.settled) - leftAt).toBeLessThan(1_000);
      await expect.poll(() => stage.served.deps.openCalls.count(), { timeout: 10_000 }).toBe(0);
      expect(await stage.rows(key.id)).toMatchObject([
        { outcome: "aborted", status, tool_name: "deaf", input_tokens: 0, output_tokens: 0 },
      ]);
    });
  });

  describe("2.5 and K06: metering", () => {
    it("is metered, and nothing else is", async () => {
      const key = await stage.bindKey({ request_limit: 1 }, bound.assistantId);
      for (const method of ["ping", "tools/list", "initialize"]) {
        await stage.ask(key.key, method, { protocolVersion: "2025-11-25" });
      }
      await stage.call(key.key, "no_such_tool");
      expect(await stage.rows(key.id)).toEqual([]);
      expect((await stage.call(key.key, "greet")).body.result.isError).toBe(false);
      expect(await stage.rows(key.id)).toMatchObject([
        {
          channel: "mcp",
          model: "",
          tool_name: "greet",
          assistant_id: bound.assistantId,
          outcome: "ok",
          success: true,
          input_tokens: 0,
          output_tokens: 0,
        },
      ]);
      expect((await stage.ask(key.key, "tools/list")).body.result.tools).toHaveLength(1);
      expect((await stage.call(key.key, "greet")).status).toBe(429);
    });

    it.each([
      ["request_limit", "request_limit_exceeded"],
      ["rpm_limit", "rate_limit_exceeded"],
      ["token_limit", "token_limit_exceeded"],
      ["monthly_token_limit", "monthly_limit_exceeded"],
    ])(
      "is refused with 429 in the standard form by a %s of 0, and not by null",
      async (limit, code) => {
        const zero = await stage.bindKey({ [limit]: 0 }, bound.assistantId);
        for (const name of ["greet", "no_such_tool"]) {
          const response = await stage.post(zero.key, message(name));
          expect(response.status).toBe(429);
          expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
          expect(await response.json()).toEqual({
            error: { message: expect.any(String), type: "rate_limit_error", param: null, code },
          });
        }
        expect((await stage.ask(zero.key, "tools/list")).status).toBe(200);
        expect(await stage.rows(zero.id)).toEqual([]);
        const open = await stage.bindKey({ [limit]: null }, bound.assistantId);
        expect((await stage.call(open.key, "greet")).status).toBe(200);
      },
    );

    it("is refused by tokens that chats have used up", async () => {
      const key = await stage.bindKey({ token_limit: 100_000 }, bound.assistantId);
      stage.simulator.script({ text: "hi", usage: { inputTokens: 100_000, outputTokens: 10 } });
      const chat = await fetch(`${stage.served.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key.key}`, "content-type": "application/json" },
        body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }], max_tokens: 10 }),
      });
      expect(chat.status).toBe(200);
      await chat.text();
      const { status, body } = await stage.call(key.key, "greet");
      expect([status, body.error.code]).toEqual([429, "token_limit_exceeded"]);
    });

    it("stands in reports and metrics under its channel", async () => {
      const key = await stage.bindKey({}, bound.assistantId);
      await stage.call(key.key, "greet");
      await stage.call(key.key, "greet", { of: 3 });
      await stage.rows(key.id);
      const report = await stage.manage("GET", `/api/usage?group=channel&key_id=${key.id}`);
      expect(report["data"]).toMatchObject([{ channel: "mcp", requests: 2, failures: 1 }]);
      await stage.served.deps.refusals.flush();
      const metrics = await scrapeMetrics(stage.served);
      for (const name of [
        'svc_gateway_calls_total{channel="mcp",outcome="ok"}',
        'svc_gateway_calls_total{channel="mcp",outcome="error"}',
        'svc_gateway_requests_24h{channel="mcp"}',
        'svc_gateway_errors_24h{channel="mcp"}',
        'svc_gateway_rate_limited_24h{channel="mcp"}',
      ]) {
        expect([name, metrics.get(name)]).toEqual([name, expect.any(Number)]);
        expect([name, metrics.get(name)]).not.toEqual([name, 0]);
      }
    });
  });

  it("is refused with 503 while the process is overloaded, and lists go on", async () => {
    const key = await stage.bindKey({}, bound.assistantId);
    isBusy = true;
    const response = await stage.post(key.key, message("greet"));
    const listed = await stage.ask(key.key, "tools/list");
    isBusy = false;
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await response.json()).toMatchObject({ error: { code: "overloaded" } });
    expect(listed.status).toBe(200);
    expect(await stage.rows(key.id)).toEqual([]);
  });
});
