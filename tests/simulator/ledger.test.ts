import { createHash } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import type { SimulatorOptions } from "../../simulator/options.ts";
import { openRawClient, rawRequest } from "../support/clients/raw-client.ts";
import { startSimulator } from "../support/servers/start-simulator.ts";

const PARALLEL_STREAMS = 500;
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(options: Partial<SimulatorOptions> = {}) {
  const simulator = await startSimulator(options);
  stops.push(simulator.stop);
  return simulator;
}

function bodyOf(content: string, changes: object = {}): string {
  const messages = [{ role: "user", content }];
  return JSON.stringify({ model: "sim-chat", messages, stream: true, ...changes });
}

async function post(url: string, path: string, body: string): Promise<string> {
  return (await fetch(url + path, { method: "POST", body })).text();
}

/** A stream on a connection of its own; clients such as fetch hold requests back beyond a few hundred. */
async function streamOver(port: number, body: string): Promise<string> {
  const client = await openRawClient(port);
  client.send(rawRequest("POST", chat, {}, body));
  const { text } = await client.readResponse({ timeoutMs: 20_000 });
  client.close();
  return text;
}

const chat = "/v1/chat/completions";

describe("the simulator's ledger", () => {
  it("keeps every request as it was received, with what was told to it", async () => {
    const simulator = await start();
    const body = bodyOf("Hello", { stream_options: { include_usage: true } });
    const headers = { "X-Mixed-Case": "kept" };
    const answer = await (
      await fetch(simulator.url + chat, { method: "POST", headers, body })
    ).text();
    const [entry] = simulator.ledger();
    expect(entry).toMatchObject({
      id: "sim-00000001",
      method: "POST",
      path: chat,
      model: "sim-chat",
      status: 200,
      body,
      bodySha256: createHash("sha256").update(body).digest("hex"),
      end: "complete",
    });
    expect(entry?.headers.map(([name]) => name.toLowerCase())).toContain("x-mixed-case");
    expect(answer).toContain(`"id":"chatcmpl-${entry?.id}"`);
    expect(answer).toContain(`"prompt_tokens":${entry?.told?.inputTokens}`);
    expect(entry?.told?.outputTokens).toBe(entry?.sentTokens);
  });

  it.each([
    ["while it streams", { tokensPerSecond: 20 }, "chunked"],
    ["before the first byte", { latencyMs: 60_000 }, ""],
  ])("knows within half a second that the client left %s", async (_, options, awaited) => {
    const simulator = await start(options);
    for (const path of [chat, "/api/chat"]) {
      simulator.reset();
      const client = await openRawClient(simulator.port);
      client.send(rawRequest("POST", path, {}, bodyOf("count to 500")));
      await simulator.awaitEntry(() => true);
      await client.readUntil((received) => received.includes(awaited));
      const leftAt = Date.now();
      client.close();
      const entry = await simulator.awaitEntry(({ end }) => end === "client-left");
      expect((entry.endedAt ?? Number.POSITIVE_INFINITY) - leftAt).toBeLessThanOrEqual(500);
      expect(entry.told).toBeUndefined();
    }
    await expect.poll(() => simulator.openSockets()).toBe(0);
  });

  it("tells figures that name the request when they must be unique", async () => {
    const simulator = await start({ uniqueUsage: true });
    const whole = bodyOf("Hello", { stream: false });
    await post(simulator.url, chat, whole);
    await post(simulator.url, "/api/chat", whole);
    expect(simulator.ledger().map(({ told }) => told?.inputTokens)).toEqual([100_001, 100_002]);
  });

  it("says the same to the same request under the same seed, and something else under another", async () => {
    const ask = async (seed: string) => {
      const simulator = await start({ seed });
      const ledgers = [];
      for (const content of ["one", "two", "three", "four", "five", "six"]) {
        const answer = await post(simulator.url, chat, bodyOf(content, { stream: false }));
        ledgers.push((JSON.parse(answer) as { choices: unknown }).choices);
      }
      return ledgers;
    };
    const first = await ask("a");
    expect(await ask("a")).toEqual(first);
    expect(await ask("b")).not.toEqual(first);
  });

  it("holds 500 streams at once, and notices that each client left", async () => {
    const simulator = await start();
    simulator.script({ stall: { at: 5 }, times: "always" });
    const clients = await Promise.all(
      Array.from({ length: PARALLEL_STREAMS }, () => openRawClient(simulator.port)),
    );
    for (const client of clients) client.send(rawRequest("POST", chat, {}, bodyOf("Hello")));
    const held = () =>
      simulator.ledger().filter(({ end, sentEvents }) => end === undefined && sentEvents === 5);
    await expect.poll(() => held().length, { timeout: 20_000 }).toBe(PARALLEL_STREAMS);
    for (const client of clients) client.close();
    const left = () => simulator.ledger().filter(({ end }) => end === "client-left");
    await expect.poll(() => left().length, { timeout: 20_000 }).toBe(PARALLEL_STREAMS);
    await expect.poll(() => simulator.openSockets()).toBe(0);
  });

  it("tells each of 500 parallel streams its own figures", async () => {
    const simulator = await start({ uniqueUsage: true, tokensPerSecond: 100 });
    const told = { stream_options: { include_usage: true }, max_tokens: 20 };
    const answers = await Promise.all(
      Array.from({ length: PARALLEL_STREAMS }, (_, index) =>
        streamOver(simulator.port, bodyOf(`stream ${index}`, told)),
      ),
    );
    const figures = answers.map((answer) => /"prompt_tokens":(\d+)/.exec(answer)?.[1]);
    expect(new Set(figures).size).toBe(PARALLEL_STREAMS);
    expect(answers.every((answer) => answer.endsWith("data: [DONE]\n\n"))).toBe(true);
    expect(
      simulator.ledger().every(({ end, sentTokens }) => end === "complete" && sentTokens === 20),
    ).toBe(true);
  });

  it("forgets all when it is reset", async () => {
    const simulator = await start();
    simulator.script({ text: "never said" });
    await fetch(`${simulator.url}/v1/models`);
    simulator.reset();
    expect(simulator.ledger()).toEqual([]);
    expect(await post(simulator.url, chat, bodyOf("Hello"))).not.toContain("never said");
  });
});
