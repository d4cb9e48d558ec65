import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ChatEvent } from "../../src/core/chat/chat-event.ts";
import { createRandom } from "../support/faults/random.ts";
import { trialSize } from "../support/faults/trial-size.ts";
import { startRedisServer } from "../support/servers/redis-server.ts";
import { AssistantStage, passage, testTool, UNLIMITED } from "../support/stages/assistant-stage.ts";

const server = await startRedisServer();
afterAll(() => server?.remove());
const PLACES: [string, typeof server][] = [["in memory", undefined]];
if (server !== undefined) PLACES.push(["in Redis", server]);

let stage: AssistantStage;
beforeAll(async () => {
  stage = await AssistantStage.open();
});
beforeEach(() => stage.reset());
afterAll(() => stage.close());

const ends = (events: readonly ChatEvent[]) =>
  events.filter(({ type }) => type === "finish" || type === "error");
const again = { toolCalls: [{ name: "again", arguments: {} }] };

describe("The turns of an assistant", () => {
  it("are refused by a monthly limit that is met between them, and use no more than it", async () => {
    stage.assistant();
    stage.tools = [testTool("again", async () => ({ text: "word ".repeat(800) }))];
    stage.simulator.script({
      ...again,
      usage: { inputTokens: 500, outputTokens: 100 },
      times: "always",
    });
    const limits = { ...UNLIMITED, monthlyTokens: 5_000 };
    const events = await stage.answer({}, { limits });
    expect(ends(events)).toMatchObject([
      { type: "error", error: { code: "monthly_limit_exceeded", status: 429 } },
    ]);
    const turns = stage.bodies().length;
    expect(turns).toBeGreaterThan(1);
    expect(await stage.row()).toMatchObject({
      outcome: "error",
      status: 200,
      input_tokens: 500 * turns,
    });
    expect(await stage.use()).toEqual({ tokens: 600 * turns, reserved: 0, requests: 1 });
  });

  it("hold what they may use until the call ends, and then nothing", async () => {
    stage.assistant();
    let held = 0;
    stage.tools = [
      testTool("again", async () => {
        held = (await stage.use()).reserved ?? 0;
        return { text: "word ".repeat(2_000) };
      }),
    ];
    stage.simulator.script(again, again, { text: "Done." });
    const reply = await stage.ask();
    const before = (await stage.use()).reserved ?? 0;
    for await (const _ of await reply.events);
    expect(held).toBeGreaterThan(before);
    expect((await stage.use()).reserved).toBe(0);
  });

  it("are refused before the first when the passages leave no room, with a status and no row", async () => {
    stage.assistant({ vectorStoreIds: ["vs_1"] });
    stage.found = [passage("word ".repeat(6_000))];
    const limits = { ...UNLIMITED, tokens: 4_000 };
    const events = (await stage.ask({}, { limits })).events;
    await expect(events).rejects.toMatchObject({ code: "token_limit_exceeded", status: 429 });
    expect(stage.bodies()).toHaveLength(0);
    expect(await stage.row()).toBeUndefined();
    expect(await stage.use()).toEqual({ tokens: 0, reserved: 0, requests: 0 });
  });

  it("count as one call in the minute and over the key's life", async () => {
    stage.assistant();
    stage.tools = [testTool("again", async () => ({ text: "x" }))];
    stage.simulator.script(again, again, { text: "Done." });
    const limits = { ...UNLIMITED, requests: 1, requestsPerMinute: 1 };
    expect(ends(await stage.answer({}, { limits }))).toMatchObject([{ type: "finish" }]);
    expect((await stage.use()).requests).toBe(1);
  });

  it("keep the usage of earlier turns when a later one fails before its first event", async () => {
    stage.assistant();
    stage.tools = [testTool("again", async () => ({ text: "x" }))];
    stage.simulator.script({ ...again, usage: { inputTokens: 70, outputTokens: 7 } });
    stage.simulator.script({ respond: { status: 500 }, times: 3 });
    expect(ends(await stage.answer())).toMatchObject([{ error: { code: "upstream_error" } }]);
    expect(await stage.row()).toMatchObject({
      outcome: "error",
      input_tokens: 70,
      output_tokens: 7,
    });
    expect(await stage.use()).toEqual({ tokens: 77, reserved: 0, requests: 1 });
  });
});

describe.each(PLACES)("The turns of many assistants at once, counted %s", (_place, redis) => {
  let stage: AssistantStage;
  beforeAll(async () => {
    stage = await AssistantStage.open("vllm", redis?.url);
  });
  beforeEach(() => stage.reset());
  afterAll(() => stage.close());

  it.each(trialSize([1, 2, 3], [1, 2, 3, 4, 5, 6, 7, 8]))(
    "never pass a limit (seed %i)",
    async (seed) => {
      const random = createRandom(seed);
      const limit = 20_000 + Math.floor(random() * 20_000);
      stage.assistant();
      stage.tools = [
        testTool("look_up", async () => ({ text: "word ".repeat(Math.floor(random() * 1_500)) })),
      ];
      const key = { limits: { ...UNLIMITED, monthlyTokens: limit } };
      const messages = [
        {
          role: "user" as const,
          content: [{ type: "text" as const, text: "Call look_up, please" }],
        },
      ];
      const outcomes = await Promise.all(
        Array.from({ length: 12 }, async () => {
          // Each has a row of its own.
          stage.calls += 1;
          stage.client = new AbortController();
          const { requestId } = stage;
          const keyed = { ...key, keyId: `key_seed_${seed}` };
          const events = stage.answer({ messages, parameters: { maxOutputTokens: 200 } }, keyed);
          const last = (await events.catch(() => [])).at(-1);
          return [requestId, last?.type] as const;
        }),
      );
      const all = { ...UNLIMITED, monthlyTokens: 1e9 };
      const read = () => stage.limits.read(`key_seed_${seed}`, all, Date.now());
      // Redis is told of the ends after the answers.
      await expect.poll(async () => (await read()).monthlyTokens?.reserved).toBe(0);
      const { monthlyTokens } = await read();
      expect(monthlyTokens?.used).toBeLessThanOrEqual(limit);
      const usage = stage.simulator.ledger().flatMap(({ told }) => told ?? []);
      const used = usage.reduce((sum, one) => sum + one.inputTokens + one.outputTokens, 0);
      expect(monthlyTokens?.used).toBe(used);
      expect(outcomes.some(([, type]) => type === "finish")).toBe(true);
    },
  );
});
