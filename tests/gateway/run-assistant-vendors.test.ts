import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ChatEvent } from "../../src/core/chat/chat-event.ts";
import { checkEventOrder } from "../support/check-event-order.ts";
import { AssistantStage, testTool, type Vendor } from "../support/stages/assistant-stage.ts";

const VENDORS: readonly Vendor[] = ["vllm", "ollama", "anthropic", "gemini", "openai"];
const EFFORT: Readonly<Record<Vendor, RegExp>> = {
  vllm: /"enable_thinking":true/,
  ollama: /"think":true/,
  anthropic: /"thinking":\{/,
  gemini: /"thinkingConfig":\{/,
  openai: /never/,
};

const textOf = (events: readonly ChatEvent[]) =>
  events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");

describe.each(VENDORS)("An assistant on %s", (vendor) => {
  let stage: AssistantStage;
  beforeAll(async () => {
    stage = await AssistantStage.open(vendor);
  });
  beforeEach(() => stage.reset());
  afterAll(() => stage.close());

  it.each([true, false])(
    "thinks, calls tools twice and answers; seals are sent back as they came (stream %s)",
    async (stream) => {
      stage.assistant({ reasoningEffort: "high" });
      const given: unknown[] = [];
      stage.tools = [
        testTool("look_up", async (args) => {
          given.push(args);
          return { text: "four" };
        }),
      ];
      stage.simulator.script(
        {
          reasoning: "First I look.",
          text: "One moment.",
          toolCalls: [
            { name: "look_up", arguments: { of: "a" } },
            { name: "look_up", arguments: { of: "b" } },
          ],
          finishReason: "tool_calls",
        },
        {
          reasoning: "Once more.",
          toolCalls: [{ name: "look_up", arguments: { of: "c" } }],
          finishReason: "tool_calls",
        },
        { text: "It is four." },
      );
      const events = await stage.answer({ stream });
      checkEventOrder(events);
      expect(events.at(-1)).toMatchObject({ type: "finish", reason: "stop" });
      expect(textOf(events)).toBe("One moment.\n\nIt is four.");
      expect(given).toEqual([{ of: "a" }, { of: "b" }, { of: "c" }]);
      const bodies = stage.bodies().map((body) => JSON.stringify(body));
      expect(bodies).toHaveLength(3);
      expect(bodies.every((body) => body.includes("look_up"))).toBe(true);
      if (vendor === "openai") expect(bodies.join()).not.toMatch(/reasoning_effort/);
      else expect(bodies.every((body) => EFFORT[vendor].test(body))).toBe(true);
      // The simulated clouds refuse a turn whose seals are missing or changed.
      const usage = stage.simulator.ledger().flatMap(({ told }) => told ?? []);
      const row = await stage.row();
      expect(row).toMatchObject({ outcome: "ok", estimated: false });
      expect(row?.["input_tokens"]).toBe(usage.reduce((sum, used) => sum + used.inputTokens, 0));
      expect(row?.["output_tokens"]).toBe(usage.reduce((sum, used) => sum + used.outputTokens, 0));
    },
  );
});

describe("An assistant on cloud vendor 1", () => {
  it("is sent its own tools, and not the client's", async () => {
    const stage = await AssistantStage.open("openai");
    stage.reset();
    stage.assistant();
    stage.tools = [testTool("ours", async () => ({ text: "" }))];
    stage.simulator.script({ text: "Yes." });
    await stage.answer({ tools: [{ name: "theirs", parameters: { type: "object" } }] });
    const [{ tools }] = stage.bodies();
    expect(tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual([
      "ours",
    ]);
    await stage.close();
  });
});
