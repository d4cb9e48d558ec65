import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Script } from "../../simulator/script.ts";
import { openRawClient, type RawResponse, rawRequest } from "../support/clients/raw-client.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

const engines = [
  { engine: "vLLM", path: "/v1/chat/completions", terminal: "data: [DONE]" },
  { engine: "Ollama", path: "/api/chat", terminal: '"done":true' },
] as const;
type Path = (typeof engines)[number]["path"];

async function begin(path: Path, changes: object = {}) {
  const client = await openRawClient(simulator.port);
  const messages = [{ role: "user", content: "Hello" }];
  const body = JSON.stringify({ model: "sim-chat", stream: true, messages, ...changes });
  client.send(rawRequest("POST", path, {}, body));
  return client;
}

/** The answer, and the error with which the connection ended when it did. */
async function ask(path: Path, changes: object = {}): Promise<RawResponse> {
  const client = await begin(path, changes);
  try {
    return await client.readResponse();
  } finally {
    client.close();
  }
}

/** The pieces of text in a stream of either format. */
function pieces(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const json = line.replace(/^data: /, "");
    if (!json.startsWith("{")) return [];
    const event = JSON.parse(json) as {
      choices?: { delta: { content?: string } }[];
      message?: { content: string };
    };
    return event.choices?.[0]?.delta.content ?? event.message?.content ?? [];
  });
}

/** The sizes of the chunks of an answer, read one after the other. */
function chunkSizes(answer: Buffer): number[] {
  const sizes: number[] = [];
  let at = answer.indexOf("\r\n\r\n") + 4;
  while (at < answer.length) {
    const end = answer.indexOf("\r\n", at);
    const size = Number.parseInt(answer.toString("latin1", at, end), 16);
    sizes.push(size);
    at = end + 2 + size + 2;
  }
  return sizes;
}

describe.each(engines)("a script for the simulator as $engine", ({ path, terminal, engine }) => {
  const script = (...scripts: Script[]) => simulator.script(...scripts);
  const last = () => simulator.ledger().at(-1);

  it("says the scripted text, in the pieces asked for, once", async () => {
    script({ text: "👩‍👩‍👧 grüße 世界", fragmentCharacters: 4 });
    const scripted = pieces((await ask(path)).text).filter(Boolean);
    expect(scripted.join("")).toBe("👩‍👩‍👧 grüße 世界");
    expect(scripted[1]).toHaveLength(Array.from(scripted[1] ?? "").length + 1);
    expect(pieces((await ask(path)).text).join("")).toContain("simulator");
  });

  it("tells the scripted figures, or none", async () => {
    const usage = { inputTokens: 11, outputTokens: 22 };
    const changes = { stream_options: { include_usage: true } };
    script({ text: "x", usage }, { text: "x", usage: null });
    expect((await ask(path, changes)).text).toMatch(/"(prompt_tokens|prompt_eval_count)":11/);
    expect(last()?.told).toEqual(usage);
    expect((await ask(path, changes)).text).not.toMatch(/prompt_tokens|eval_count/);
    expect(last()?.told).toBeUndefined();
  });

  it("refuses before the stream with status, headers and body", async () => {
    script({ respond: { status: 429, headers: { "retry-after": "7" }, body: { error: "busy" } } });
    const refused = await ask(path);
    expect(refused.status).toBe(429);
    expect(refused.header("retry-after")).toBe("7");
    expect(refused.json()).toEqual({ error: "busy" });
    expect(last()?.status).toBe(429);
  });

  it("is silent before the headers, then answers", async () => {
    script({ stall: { at: "headers", forMs: 800 } });
    const client = await begin(path);
    await new Promise((resolve) => setTimeout(resolve, 75));
    expect(client.received()).toHaveLength(0);
    expect((await client.readResponse()).isComplete).toBe(true);
    client.close();
  });

  it("sends 200 and then nothing, until the client leaves", async () => {
    script({ stall: { at: 0 } });
    const client = await begin(path);
    await client.readUntil((received) => received.endsWith("\r\n\r\n"));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(client.received().toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s);
    client.close();
    expect((await simulator.awaitEntry(({ end }) => end !== undefined)).end).toBe("client-left");
  });

  it.each([1, 5])("resets after %i events, which all arrive", async (at) => {
    script({ cut: { at, how: "reset" } });
    const client = await begin(path);
    expect((await client.closed).error).toBe("ECONNRESET");
    const response = await client.readResponse();
    expect(response.isComplete).toBe(false);
    expect(pieces(response.text)).toHaveLength(at);
    expect(last()).toMatchObject({ end: "reset", sentEvents: at, told: undefined });
  });

  it("resets before the headers", async () => {
    script({ cut: { at: "headers", how: "reset" } });
    const client = await begin(path);
    expect((await client.closed).error).toBe("ECONNRESET");
    expect(client.received()).toHaveLength(0);
  });

  it("ends without the terminal marker, properly or by a bare FIN", async () => {
    script({ cut: { at: "terminal", how: "end" } });
    const ended = await ask(path);
    expect(ended.isComplete).toBe(true);
    expect(ended.text).not.toContain(terminal);
    expect(pieces(ended.text).join("")).toContain("simulator");
    script({ cut: { at: 3, how: "fin" } });
    const client = await begin(path);
    expect((await client.closed).error).toBeUndefined();
    expect(await client.readResponse()).toMatchObject({ isComplete: false });
    expect(simulator.ledger().map(({ end }) => end)).toEqual(["cut", "fin"]);
  });

  it.each(['{"id": "trunc', "<html>oops</html>", "null", "[]"])(
    "puts the line %s in",
    async (line) => {
      script({ inject: { at: 2, line } });
      const { text } = await ask(path);
      const framed = engine === "vLLM" ? `data: ${line}\n\n` : `${line}\n`;
      expect(text).toContain(framed);
      expect(pieces(text.slice(0, text.indexOf(framed)))).toHaveLength(2);
      expect(text).toContain(terminal);
    },
  );

  it.each([0, 3])("sends the engine's error after %i events", async (at) => {
    script({ error: { at } });
    const { text } = await ask(path);
    const lines = text.trim().split(/\n+/);
    const isVllm = engine === "vLLM";
    expect(lines).toHaveLength(isVllm ? at + 2 : at + 1);
    expect(lines[at]).toMatch(isVllm ? /^data: \{"error":\{/ : /^\{"error":"/);
    if (isVllm) expect(lines.at(-1)).toBe("data: [DONE]");
    else expect(text).not.toContain(terminal);
  });

  it("cuts the body into segments of the size asked for", async () => {
    script({ text: "grüße", segments: { bytes: 3, delayMs: 0 } });
    const client = await begin(path);
    const { text } = await client.readResponse();
    expect(pieces(text).join("")).toBe("grüße");
    const sizes = chunkSizes(client.received());
    expect(Math.max(...sizes)).toBe(3);
    expect(sizes.filter((size) => size === 3).length).toBeGreaterThan(text.length / 4);
    client.close();
  });

  it("keeps the pace asked for", async () => {
    script({ text: "a b c d e f g h i j", tokensPerSecond: 50, latencyMs: 50 });
    const started = performance.now();
    await ask(path);
    expect(performance.now() - started).toBeGreaterThanOrEqual(240);
  });

  it("strikes a whole answer too", async () => {
    const whole = { stream: false };
    script({ cut: { at: "headers", how: "reset" } });
    expect((await (await begin(path, whole)).closed).error).toBe("ECONNRESET");
    script({ cut: { at: 1, how: "fin" } });
    const half = await ask(path, whole);
    expect(half.isComplete).toBe(false);
    expect(half.body.length).toBeGreaterThan(50);
    script({ error: { at: 0 } }, { inject: { at: 0, line: "<html>" } });
    expect((await ask(path, whole)).status).toBe(500);
    expect((await ask(path, whole)).text).toBe("<html>");
  });

  it("waits while the client does not read", async () => {
    script({ text: "x".repeat(65_536), repeat: 400, fragmentCharacters: 65_536 });
    const client = await begin(path);
    client.pause();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const sentWhilePaused = last()?.sentEvents ?? 0;
    expect(sentWhilePaused).toBeGreaterThan(0);
    expect(sentWhilePaused).toBeLessThan(350);
    client.resume();
    await simulator.awaitEntry(({ end }) => end === "complete");
    client.close();
  });
});

describe("scripts in general", () => {
  const path = "/v1/chat/completions";

  it("strike the request whose marker matches, in the order they were queued", async () => {
    simulator.script(
      { match: { body: "marker-2" }, text: "second" },
      { match: { model: "sim-small" }, text: "small" },
      { match: { headers: { "x-marker": "three" } }, text: "third", times: "always" },
      { match: { path: "/api/chat" }, text: "ollama" },
    );
    const text = async (changes: object) => pieces((await ask(path, changes)).text).join("");
    expect(await text({ user: "marker-1" })).toContain("simulator");
    expect(await text({ model: "sim-small" })).toBe("small");
    expect(await text({ user: "marker-2" })).toBe("second");
    expect(await text({ user: "marker-2" })).toContain("simulator");
    expect(pieces((await ask("/api/chat")).text).join("")).toBe("ollama");
    const marked = () =>
      fetch(simulator.url + path, {
        method: "POST",
        headers: { "x-marker": "three" },
        body: JSON.stringify({ messages: [{ role: "user", content: "" }] }),
      }).then((response) => response.text());
    expect(await marked()).toContain('"content":"third"');
    expect(await marked()).toContain('"content":"third"');
  });

  it("leave the looks at models and health alone unless a path is given", async () => {
    simulator.script({ respond: { status: 500 } });
    expect((await fetch(`${simulator.url}/v1/models`)).status).toBe(200);
    expect(
      (await fetch(`${simulator.url}/api/show`, { method: "POST", body: '{"model":"sim-chat"}' }))
        .status,
    ).toBe(200);
    expect((await ask(path)).status).toBe(500);
    simulator.script({ match: { path: "/health" }, respond: { status: 503 } });
    expect((await fetch(`${simulator.url}/health`)).status).toBe(503);
  });

  it("give parallel tool calls, fragmented and in turn", async () => {
    simulator.script({
      toolCalls: [
        { name: "one", arguments: { text: "äöü" }, id: "call_1" },
        { name: "two", arguments: '{"a":1}' },
      ],
      argumentCharacters: 3,
      interleaveToolCalls: true,
    });
    const { text } = await ask(path);
    const deltas = text
      .split("\n\n")
      .filter((event) => event.includes('tool_calls":['))
      .map((event) => {
        const { choices } = JSON.parse(event.slice(6)) as {
          choices: [
            { delta: { tool_calls: [{ index: number; function: { arguments: string } }] } },
          ];
        };
        return choices[0].delta.tool_calls[0];
      });
    expect(deltas.slice(0, 4).map(({ index }) => index)).toEqual([0, 1, 0, 1]);
    const whole = (index: number) =>
      deltas
        .filter((delta) => delta.index === index)
        .map((delta) => delta.function.arguments)
        .join("");
    expect([whole(0), whole(1)]).toEqual(['{"text":"äöü"}', '{"a":1}']);
    expect(text).toContain('"finish_reason":"tool_calls"');
  });

  it("put usage on the finish chunk, reason first, and end as they say", async () => {
    simulator.script({
      reasoning: "thinking",
      text: "said",
      usage: { inputTokens: 1, outputTokens: 2, cachedTokens: 3, reasoningTokens: 4 },
      usageOnFinish: true,
      finishReason: "content_filter",
    });
    const { text } = await ask(path);
    expect(text.indexOf('"reasoning":"thinking"')).toBeLessThan(text.indexOf('"content":"said"'));
    const finish = text.split("\n\n").find((event) => event.includes("content_filter"));
    expect(finish).toContain('"prompt_tokens_details":{"cached_tokens":3}');
    expect(finish).toContain('"completion_tokens_details":{"reasoning_tokens":4}');
    expect(text).not.toContain('"choices":[]');
  });

  it("are queued, counted and forgotten over HTTP as well, and a misspelt field is refused", async () => {
    const post = (name: string, body: unknown) =>
      fetch(`${simulator.url}/__sim/${name}`, { method: "POST", body: JSON.stringify(body) });
    expect(await (await post("script", [{ text: "one" }, { text: "two" }])).json()).toEqual({
      waiting: 2,
    });
    expect(pieces((await ask(path)).text).join("")).toBe("one");
    const { entries } = (await (await fetch(`${simulator.url}/__sim/ledger`)).json()) as {
      entries: object[];
    };
    expect(entries).toMatchObject([{ path, model: "sim-chat", end: "complete" }]);
    await post("reset", {});
    const status = await (await fetch(`${simulator.url}/__sim/status`)).json();
    expect(status).toMatchObject({ running: 0, requests: 0, waiting: 0 });
    const refused = await post("script", { txet: "one" });
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { error: 'a script has no field "txet"' },
    ]);
  });
});
