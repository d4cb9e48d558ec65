import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { createCaseTable, noteLaterRoutes } from "../../support/case-table.ts";
import { callGateway, chatBody, openCall } from "../../support/clients/call-gateway.ts";
import { readChatStream } from "../../support/clients/chat-stream.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import {
  CHAT_CALLS,
  ENGINE_KEY,
  ENGINES,
  type Engine,
  errorLines,
  expectCleanOutput,
  type Stage,
  startStages,
} from "../../support/stages/engine-stage.ts";

/** The third is asked only for what fails. */
const MODELS = ["first", "second", "third"];
const MEBIBYTE = 1024 * 1024;
/**
 * How long a look at the health may take while a hostile body is worked on. The simulated engine works in the process
 * that looks, so most of it is the engine's.
 */
const HEALTH_MS = 30_000;
const HOSTILE_ARGUMENTS =
  '{"__proto__":{"stream":true,"n":5,"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":1.0}';

const table = createCaseTable({
  H05: "depths of 10,000 and 1,000,000",
  H11: "10 GB behind 10 MB, ten codings",
});
const starting = startStages((engine) => ({ engine, models: MODELS }));
noteLaterRoutes(table, ["H05", "H06", "H07", "H08", "H09", "H10", "H11", "H12"]);

for (const engine of ENGINES) describe(`requests to ${engine}`, () => casesOf(engine));

function casesOf(engine: Engine): void {
  let stage: Stage;
  let answered = 0;

  beforeAll(async () => {
    stage = await starting[engine];
    await expectNormalCall();
  });
  afterAll(() => stage.finish());

  const shows = (id: string, where: string, sentence: string, test: () => Promise<void>) =>
    table.shows(id, `chat, ${engine}${where}`, sentence, test);
  const call = (body: unknown, headers: Readonly<Record<string, string | undefined>> = {}) =>
    callGateway(stage.gateway.port, { body, headers });
  const chatCalls = () =>
    stage.simulator.ledger().filter(({ path }) => path === CHAT_CALLS[engine]);
  const expectNormalCall = async () => {
    const response = await call(chatBody("first"));
    expect(response.status).toBe(200);
    expect(response.json()).toMatchObject({ object: "chat.completion", choices: [{ index: 0 }] });
    expect((response.json() as { choices: unknown[] }).choices).toHaveLength(1);
    answered += 1;
    return response;
  };
  /** Refused, and nothing of it has reached the engine. */
  const expectRefused = async (response: Promise<RawResponse>, status: number, code?: string) => {
    const before = chatCalls().length;
    const error = expectChatError(await response, status, code);
    expect(chatCalls().length).toBe(before);
    return error;
  };
  /** Sends the call, and looks at the health again and again until it is answered. */
  const callWhileHealthy = async (body: string) => {
    const client = await openCall(stage.gateway.port, { body });
    const answer = client.readResponse({ method: "POST", timeoutMs: 120_000 });
    let isAnswered = false;
    const noteAnswer = () => {
      isAnswered = true;
    };
    answer.then(noteAnswer, noteAnswer);
    let slowestMs = 0;
    do {
      const startedAt = performance.now();
      const health = await callGateway(stage.gateway.port, { method: "GET", path: "/api/health" });
      expect(health.status).toBe(200);
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    } while (!isAnswered);
    expect(slowestMs).toBeLessThan(HEALTH_MS);
    client.close();
    return answer;
  };

  describe("that are not what they should be", () => {
    for (const depth of [129, 10_000, 1_000_000]) {
      shows("H05", `: depth ${depth}`, "is refused while the health answers", async () => {
        for (const [open, close] of [
          ["[", "]"],
          ['{"a":', "}"],
        ] as const) {
          const nested = `${open.repeat(depth)}1${close.repeat(depth)}`;
          const body = `{"model":"first","messages":${nested}}`;
          await expectRefused(callWhileHealthy(body), 400, "invalid_json");
        }
        await expectRefused(callWhileHealthy("[".repeat(depth)), 400, "invalid_json");
      });
    }

    shows(
      "H05",
      ": depth in a tool's arguments",
      "is passed on as text or refused, never followed",
      async () => {
        for (const depth of [10_000, 1_000_000]) {
          const deep = `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
          const response = await callWhileHealthy(JSON.stringify(toolTurn("first", deep)));
          expect([200, 400]).toContain(response.status);
          if (response.status === 400) expectChatError(response, 400);
          else answered += 1;
        }
        await expectNormalCall();
      },
    );

    shows("H05", ": depth in the engine's answer", "does not break the process", async () => {
      const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
      stage.simulator.script({
        match: { path: CHAT_CALLS[engine] },
        inject: { at: 0, line: deep },
      });
      expectChatError(await call(chatBody("third", { stream: true })), 502, "upstream_error");
      await expectNormalCall();
    });

    for (const body of [
      "{",
      "",
      "null",
      "[]",
      '"x"',
      "1",
      "true",
      "{}{}",
      "{'a':1}",
      "\u0000",
      '{"a":1e}',
    ]) {
      shows("H06", `: ${JSON.stringify(body)}`, "is a 400 in the chat form", async () => {
        const bytes = Buffer.from(body);
        const headers = { "content-length": String(bytes.length) };
        await expectRefused(call(bytes, headers), 400);
      });
    }

    shows("H06", ": empty body without a length", "is a 400 in the chat form", async () => {
      await expectRefused(call(undefined), 400);
    });

    const wrongBytes = {
      "lone byte": [0xff],
      "cut sequence": [0xe6, 0xbc],
      surrogate: [0xed, 0xa0, 0x80],
      overlong: [0xc0, 0xaf],
    };
    for (const [name, bytes] of Object.entries(wrongBytes)) {
      shows("H07", `: ${name}`, "is a 400 and not replaced", async () => {
        const [before = "", after = ""] = JSON.stringify(chatBody("first")).split("something");
        const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
        await expectRefused(call(body), 400, "invalid_json");
      });
    }

    shows("H08", ": model twice", "has one meaning everywhere", async () => {
      const body = JSON.stringify(chatBody("first")).replace("{", '{"model":"second",');
      const swapped = `${JSON.stringify(chatBody("first")).slice(0, -1)},"model":"second"}`;
      for (const [text, model] of [
        [body, "first"],
        [swapped, "second"],
      ] as const) {
        const response = await call(text);
        if (response.status === 400) continue;
        answered += 1;
        expect(plain((response.json() as { model: string }).model)).toBe(model);
        expect(plain(chatCalls().at(-1)?.model)).toBe(model);
      }
    });

    shows("H08", ": stream and n twice", "has one meaning everywhere", async () => {
      const twice = (fields: string) =>
        `${JSON.stringify(chatBody("first")).slice(0, -1)},${fields}}`;
      const whole = await call(twice('"stream":true,"stream":false'));
      expect(whole.header("content-type")).toMatch(/^application\/json/);
      expect(whole.status).toBe(200);
      const streamed = await call(twice('"stream":false,"stream":true'));
      expect(readChatStream(streamed)).toMatchObject({ isDone: true, error: undefined });
      expect((await expectRefused(call(twice('"n":1,"n":2')), 400)).param).toBe("n");
      expect((await call(twice('"n":2,"n":1'))).status).toBe(200);
      answered += 3;
    });

    shows("H09", ": top level, metadata", "is plain data", async () => {
      const base = JSON.stringify(chatBody("first")).slice(0, -1);
      const bodies = [
        `${base},"__proto__":{"stream":true,"n":5,"polluted":1}}`,
        `${base},"constructor":{"prototype":{"stream":true,"n":5}}}`,
        `${base},"metadata":{"__proto__":{"ext":{"thinking":true}},"constructor":{"prototype":{"n":5}}}}`,
        `${base},"metadata":{"ext":{"__proto__":{"thinking":true,"tools_scope":["x"]}}}}`,
      ];
      for (const body of bodies) {
        const response = await call(body);
        if (response.status === 400) expectChatError(response, 400);
        else answered += 1;
        expect([200, 400]).toContain(response.status);
        expect(response.header("content-type")).toMatch(/^application\/json/);
        const sent = JSON.parse(chatCalls().at(-1)?.body ?? "{}") as object;
        expect(Object.keys(sent)).not.toContain("n");
        await expectNormalCall();
      }
    });

    shows("H09", ": tool arguments, both ways", "arrive as they were written", async () => {
      const turn = toolTurn("first", HOSTILE_ARGUMENTS);
      expect((await call(turn)).status).toBe(200);
      const body = chatCalls().at(-1)?.body ?? "";
      if (engine === "vllm") expect(body).toContain(JSON.stringify(HOSTILE_ARGUMENTS));
      else expect(body).toContain(HOSTILE_ARGUMENTS);
      const toolCalls = [{ name: "look", arguments: HOSTILE_ARGUMENTS }];
      for (const stream of [true, false]) {
        const match = { path: CHAT_CALLS[engine] };
        stage.simulator.script({ match, toolCalls });
        const response = await call({ ...turn, stream });
        const seen = stream ? readChatStream(response).toolArguments[0] : argumentsOf(response);
        expect(canonical(seen)).toBe(canonical(HOSTILE_ARGUMENTS));
        if (engine === "vllm") expect(seen).toBe(HOSTILE_ARGUMENTS);
      }
      answered += 3;
      await expectNormalCall();
    });
  });

  describe("by their headers", () => {
    const types: readonly (readonly [string | undefined, number])[] = [
      [undefined, 415],
      ["text/plain", 415],
      ["application/x-www-form-urlencoded", 415],
      ["multipart/form-data; boundary=x", 415],
      ["application/json; charset=utf-16", 415],
      ["application/jsonp", 415],
      ["application/json", 200],
      ["APPLICATION/JSON; charset=UTF-8", 200],
      ['application/json;charset="utf-8"', 200],
    ];
    for (const [type, status] of types) {
      shows("H10", `: ${type ?? "no content type"}`, `is ${status}`, async () => {
        const response = await call(chatBody("first"), { "content-type": type });
        expect(response.status).toBe(status);
        if (status === 200) answered += 1;
        else expectChatError(response, 415, "unsupported_media_type");
      });
    }

    shows("H11", "", "is refused unread: compressed, a bomb, a chain", async () => {
      const text = JSON.stringify(chatBody("first"));
      const chain = Array.from({ length: 10 }, () => "gzip").join(", ");
      const chained = Array.from({ length: 10 }).reduce<Buffer>(
        (bytes) => gzipSync(bytes),
        Buffer.from(text),
      );
      await expectRefused(
        call(gzipSync(text), { "content-encoding": "gzip" }),
        415,
        "unsupported_media_type",
      );
      await expectRefused(
        call(chained, { "content-encoding": chain }),
        415,
        "unsupported_media_type",
      );
      await expectRefused(call(Buffer.from(text), { "content-encoding": "deflate" }), 415);
      const before = memoryBytes(stage.gateway.pid);
      const member = gzipSync(Buffer.alloc(32 * MEBIBYTE), { level: 9 });
      const bomb = Buffer.concat(Array.from({ length: 320 }, () => member));
      expect(bomb.length).toBeGreaterThan(8 * MEBIBYTE);
      const client = await openCall(stage.gateway.port, {
        headers: { "content-encoding": "gzip", "content-length": String(bomb.length) },
      });
      expectChatError(await client.readResponse({ method: "POST" }), 415);
      client.send(bomb);
      await client.closed;
      client.close();
      expect(memoryBytes(stage.gateway.pid) - before).toBeLessThan(32 * MEBIBYTE);
      expect((await call(chatBody("first"), { "content-encoding": "identity" })).status).toBe(200);
      answered += 1;
    });

    shows("H12", ": headers", "of the client never reach the engine", async () => {
      const canary = "canary-of-the-client";
      await call(chatBody("first"), {
        cookie: `session=${canary}`,
        "x-forwarded-for": `10.0.0.1, ${canary}`,
        "x-forwarded-host": canary,
        "x-real-ip": canary,
        forwarded: `for=${canary}`,
        connection: "x-api-key",
        "x-api-key": canary,
        "x-request-id": canary,
        "openai-organization": canary,
        "user-agent": canary,
        "accept-language": canary,
        traceparent: canary,
        "transfer-encodin": canary,
      });
      answered += 1;
      const { headers = [] } = chatCalls().at(-1) ?? {};
      const names = headers.map(([name]) => name.toLowerCase());
      expect(JSON.stringify(headers)).not.toContain(canary);
      expect(names.filter((name) => !ENGINE_HEADERS.has(name))).toEqual([]);
      const credentials = headers.filter(([name]) => name.toLowerCase() === "authorization");
      expect(credentials.map(([, value]) => value)).toEqual([`Bearer ${ENGINE_KEY}`]);
    });

    shows("H12", ": CR and LF in the model's name", "never reach a header", async () => {
      for (const model of [
        "x\r\nX-Injected: 1",
        "first\r\n\r\nGET /evil HTTP/1.1",
        "first\u0000",
        "first\u2028",
      ]) {
        for (const stream of [true, false]) {
          const response = await call(chatBody(model, { stream }));
          const names = response.headers.map(([name]) => name.toLowerCase());
          expect(names).not.toContain("x-injected");
          expect(response.status).toBe(200);
          answered += 1;
          const { headers = [], model: asked } = chatCalls().at(-1) ?? {};
          expect(headers.map(([name]) => name.toLowerCase())).not.toContain("x-injected");
          expect(plain(asked)).toBe("first");
        }
      }
      const path = `/v1/models/${encodeURIComponent("x\r\nX-Injected: 1")}`;
      const response = await callGateway(stage.gateway.port, { method: "GET", path });
      expectChatError(response, 404);
      expect(response.header("x-injected")).toBeUndefined();
      expect(stage.simulator.ledger().map((entry) => entry.path)).not.toContain("/evil");
    });
  });

  shows("H08", ": usage", "has a row for each answered call, and no error in the log", async () => {
    const rows = await stage.finish();
    expectCleanOutput(stage.gateway);
    const succeeded = rows.filter(({ success }) => success);
    expect(succeeded).toHaveLength(answered);
    const told = chatCalls().filter(({ status }) => status === 200);
    const countBy = (models: readonly (string | undefined)[]) =>
      ["first", "second"].map((model) => models.filter((one) => plain(one) === model).length);
    expect(countBy(succeeded.map(({ model }) => model))).toEqual(
      countBy(told.map(({ model }) => model)),
    );
    expect(errorLines(stage.gateway)).toEqual([]);
  });
}

/** All that the gateway itself sends to an engine. */
const ENGINE_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "authorization",
  "accept",
  "accept-encoding",
  "content-type",
  "content-length",
  "user-agent",
]);

/** A conversation in which a tool was called with these arguments, and may be called again. */
function toolTurn(model: string, toolArguments: string) {
  const toolCall = {
    id: "call_1",
    type: "function",
    function: { name: "look", arguments: toolArguments },
  };
  return {
    model,
    messages: [
      { role: "user", content: "Look." },
      { role: "assistant", content: null, tool_calls: [toolCall] },
      { role: "tool", tool_call_id: "call_1", content: "nothing" },
    ],
    tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
  };
}

function argumentsOf(response: RawResponse): string | undefined {
  const { choices } = response.json() as {
    choices: [{ message: { tool_calls?: [{ function: { arguments: string } }] } }];
  };
  return choices[0].message.tool_calls?.[0].function.arguments;
}

/** The same value written the same way; `1.0` and `1` are one. */
function canonical(json: string | undefined): string {
  return JSON.stringify(JSON.parse(json ?? "null"));
}

function plain(model: string | undefined): string | undefined {
  return model?.replace(/:latest$/, "");
}

function memoryBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}
