import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Cloud } from "../../../src/backends/models/trait-table.ts";
import type { ChatRequest } from "../../../src/core/chat/chat-request.ts";
import { EFFORTS, type Effort } from "../../../src/core/chat/effort.ts";
import type { JsonValue } from "../../../src/lib/json/json.ts";
import {
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/servers/scripted-upstream.ts";
import { type CloudCall, sentBy, shortAnswer } from "./cloud-calls.ts";

let server: ScriptedUpstream;
beforeAll(async () => {
  server = await startScriptedUpstream(shortAnswer);
});
afterAll(() => server.stop());

const TOOLS = [{ name: "look", parameters: { type: "object", properties: {} } }];

/** What a call says of thinking, in the words of its vendor; undefined when it says nothing. */
async function said(
  cloud: Cloud,
  model: string,
  effort: Effort | undefined,
  more: Partial<CloudCall> = {},
): Promise<unknown> {
  const parameters = { maxOutputTokens: 4_096 };
  const request: Partial<ChatRequest> = { parameters, effort, ...more.request };
  const { body } = await sentBy(server, { cloud, model, ...more, request });
  const { thinking, output_config, reasoning_effort, reasoning, generationConfig } = body;
  const config = generationConfig as { thinkingConfig?: JsonValue } | undefined;
  const all = { thinking, output_config, reasoning_effort, reasoning, ...config };
  const told = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return Object.keys(told).length === 0 ? undefined : told;
}

describe("4.4 cloud vendor 1: as given on reasoning models", () => {
  // [model, what is said for none, low, medium, high and max]
  it.each([
    ["gpt-4o", []],
    ["gpt-5-chat-latest", []],
    ["o3", [undefined, "low", "medium", "high", "high"]],
    ["gpt-5", [undefined, "low", "medium", "high", "high"]],
    ["gpt-5.1", ["none", "low", "medium", "high", "high"]],
    ["gpt-5.2", ["none", "low", "medium", "high", "xhigh"]],
    ["gpt-5.6", ["none", "low", "medium", "high", "max"]],
    ["gpt-6", [undefined, "low", "medium", "high", "max"]],
    ["unheard-of-1", [undefined, "low", "medium", "high", "max"]],
  ] as const)("%s", async (model, words) => {
    for (const [index, effort] of EFFORTS.entries()) {
      const word = words[index];
      const expected = word === undefined ? undefined : { reasoning_effort: word };
      expect([effort, await said("openai", model, effort)]).toEqual([effort, expected]);
    }
    expect(await said("openai", model, undefined)).toBeUndefined();
  });

  it("is said in the other interface's words there", async () => {
    const sent = await said("openai", "gpt-5.1-codex", "high");
    expect(sent).toEqual({ reasoning: { effort: "high", summary: "auto" } });
    expect(await said("openai", "gpt-5.1-codex", undefined)).toBeUndefined();
  });

  it("is not sent when tools are used, and is when they are ignored", async () => {
    const request = { tools: TOOLS };
    for (const model of ["gpt-5.6", "gpt-5.1-codex"]) {
      expect(await said("openai", model, "high", { request, passthrough: true })).toBeUndefined();
      expect(await said("openai", model, "high", { request })).toBeDefined();
    }
  });
});

describe("4.4 cloud vendor 2, newer generation: adaptive thinking plus effort", () => {
  const adaptive = (effort: string) => ({
    thinking: { type: "adaptive", display: "summarized" },
    output_config: { effort },
  });
  const off = { thinking: { type: "disabled" } };

  it.each([
    ["claude-opus-4-6", off],
    ["claude-opus-4-7", off],
    ["claude-sonnet-5", off],
    ["claude-haiku-5-5", off],
    // Always thinking: `none` is the model's default.
    ["claude-opus-5-5", undefined],
    ["claude-fable-5", undefined],
    ["claude-unheard-9", undefined],
  ])("%s", async (model, none) => {
    expect(await said("anthropic", model, "none")).toEqual(none);
    for (const effort of ["low", "medium", "high", "max"] as const) {
      expect(await said("anthropic", model, effort)).toEqual(adaptive(effort));
    }
    expect(await said("anthropic", model, undefined)).toBeUndefined();
  });

  it("tells an effort without thinking as such, and leaves thinking to the model", async () => {
    const request = { leavesThinking: true, parameters: { temperature: 0.5 } } as const;
    const alone = { output_config: { effort: "low" } };
    for (const model of ["claude-opus-4-6", "claude-sonnet-5", "claude-opus-5-5"]) {
      expect(await said("anthropic", model, "low", { request })).toEqual(alone);
    }
    expect(await said("anthropic", "claude-sonnet-4-5", "low", { request })).toBeUndefined();
    const call = { model: "claude-opus-4-6", request: { ...request, effort: "low" } } as const;
    expect((await sentBy(server, { cloud: "anthropic", ...call })).body).toMatchObject({
      temperature: 0.5,
    });
  });

  it("keeps a call that forces a tool from thinking, also where nobody asked for it", async () => {
    for (const toolChoice of [{ type: "required" }, { type: "tool", name: "look" }] as const) {
      for (const effort of ["high", undefined] as const) {
        const request = { tools: TOOLS, toolChoice };
        expect(await said("anthropic", "claude-opus-5", effort, { request })).toEqual(off);
      }
    }
  });

  it("asks a model that always thinks for a tool instead of forcing it", async () => {
    const request = { tools: TOOLS, toolChoice: { type: "required" }, effort: "high" } as const;
    const { body } = await sentBy(server, {
      cloud: "anthropic",
      model: "claude-opus-5-5",
      request,
    });
    expect(body).toMatchObject({ tool_choice: { type: "auto" }, thinking: { type: "adaptive" } });
  });
});

describe("4.4 cloud vendor 2, older generation: low or above is on", () => {
  const on = (budget: number) => ({ thinking: { type: "enabled", budget_tokens: budget } });

  it.each(["claude-opus-4-1", "claude-sonnet-4-5", "claude-opus-4-5", "claude-3-7-sonnet-latest"])(
    "%s",
    async (model) => {
      for (const effort of ["low", "medium", "high", "max"] as const) {
        expect(await said("anthropic", model, effort)).toEqual(on(2_048));
      }
      expect(await said("anthropic", model, "none")).toBeUndefined();
      expect(await said("anthropic", model, undefined)).toBeUndefined();
    },
  );

  it.each([
    [1_024, undefined],
    [1_025, 1_024],
    [3_000, 1_500],
    [16_384, 8_192],
    [30_000, 8_192],
  ])("of an answer of %i tokens the budget is %s", async (maxOutputTokens, budget) => {
    const request = { parameters: { maxOutputTokens } };
    const sent = await said("anthropic", "claude-sonnet-4-5", "high", { request });
    expect(sent).toEqual(budget === undefined ? undefined : on(budget));
  });

  it("does not think where a tool is forced", async () => {
    const request = { tools: TOOLS, toolChoice: { type: "tool", name: "look" } } as const;
    expect(await said("anthropic", "claude-opus-4-1", "high", { request })).toBeUndefined();
  });

  it("a model without thinking takes the setting without error", async () => {
    expect(await said("anthropic", "claude-3-5-haiku-latest", "high")).toBeUndefined();
  });
});

describe("4.4 cloud vendor 3: none and high applied, max becomes high", () => {
  const config = (thinkingConfig: JsonValue) => ({ thinkingConfig });
  const budget = config({ thinkingBudget: 24_576, includeThoughts: true });
  const level = config({ thinkingLevel: "HIGH", includeThoughts: true });

  it.each([
    // [model, none, high]
    ["gemini-2.0-flash", undefined, undefined],
    ["gemini-2.5-flash", config({ thinkingBudget: 0 }), budget],
    ["gemini-2.5-pro", config({ thinkingBudget: 128 }), budget],
    ["gemini-3-flash-preview", config({ thinkingLevel: "MINIMAL" }), level],
    ["gemini-3-pro-preview", config({ thinkingLevel: "LOW" }), level],
    ["gemini-9-ultra", config({ thinkingLevel: "LOW" }), level],
  ])("%s", async (model, none, high) => {
    expect(await said("google", model, "none")).toEqual(none);
    expect(await said("google", model, "high")).toEqual(high);
    expect(await said("google", model, "max")).toEqual(high);
    for (const effort of ["low", "medium", undefined] as const) {
      expect(await said("google", model, effort)).toBeUndefined();
    }
  });
});

describe("The budget of cloud vendor 3's older models", () => {
  it.each([
    ["gemini-2.5-flash", 8_192, 4_096],
    ["gemini-2.5-pro", 8_192, 4_096],
    ["gemini-2.5-pro", 65_536, 24_576],
    ["gemini-2.5-pro", 100, 128],
    ["gemini-2.5-flash-lite", 600, 512],
  ])("leaves %s half of the %i tokens that a key's limit allows", async (model, most, budget) => {
    const request = { parameters: {}, reservedOutputTokens: most };
    for (const effort of ["high", "max"] as const) {
      expect(await said("google", model, effort, { request })).toEqual({
        maxOutputTokens: most,
        thinkingConfig: { thinkingBudget: budget, includeThoughts: true },
      });
    }
  });
});

describe("4.4 cloud vendor 4: unsupported, model default", () => {
  it.each(["none", "low", "medium", "high", "max"] as const)("%s", async (effort) => {
    expect(await said("compatible", "grok-4", effort)).toBeUndefined();
  });
});
