import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Cloud } from "../../../src/backends/models/trait-table.ts";
import type { GenerationParameters } from "../../../src/core/chat/chat-request.ts";
import { isJsonObject, type JsonObject } from "../../../src/lib/json/json.ts";
import {
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/servers/scripted-upstream.ts";
import { chatRequest } from "../support.ts";
import {
  type CloudCall,
  cloudAt,
  cloudModel,
  lastCall,
  sentBy,
  shortAnswer,
} from "./cloud-calls.ts";

let server: ScriptedUpstream;
beforeAll(async () => {
  server = await startScriptedUpstream(shortAnswer);
});
afterAll(() => server.stop());

/** The generation settings that a call of these parameters puts on the wire. */
async function settings(
  cloud: Cloud,
  model: string,
  parameters: GenerationParameters,
  more: Partial<CloudCall> = {},
): Promise<JsonObject> {
  const request = { parameters, ...more.request };
  const { body } = await sentBy(server, { cloud, model, ...more, request });
  const { generationConfig } = body;
  const { messages: _messages, model: _model, stream: _stream, contents: _, ...rest } = body;
  return isJsonObject(generationConfig) ? generationConfig : rest;
}

const SAMPLING = { temperature: 0.5, topP: 0.8, topK: 40 };

describe("4.3 temperature, top_p and top_k", () => {
  it("cloud vendor 1 gets the first two, and none of them for reasoning models", async () => {
    expect(await settings("openai", "gpt-4o", SAMPLING)).toEqual({ temperature: 0.5, top_p: 0.8 });
    for (const model of ["o3", "gpt-5", "gpt-5.1", "gpt-6", "gpt-5-pro"]) {
      const sent = Object.keys(await settings("openai", model, SAMPLING));
      expect(sent).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(temp|top)/)]));
    }
  });

  it.each([
    ["anthropic", "claude-sonnet-4-5", "top_k"],
    ["google", "gemini-2.5-flash", "topK"],
  ] as const)("%s is not sent a top_k that stands for all tokens", async (cloud, model, name) => {
    for (const topK of [-1, 0]) {
      expect(await settings(cloud, model, { topK })).not.toHaveProperty(name);
    }
    expect(await settings(cloud, model, { topK: 1 })).toHaveProperty(name, 1);
  });

  it("cloud vendor 2 gets them with thinking off alone, top_p only without temperature", async () => {
    const { temperature: _, ...others } = SAMPLING;
    for (const model of ["claude-sonnet-4-5", "claude-opus-4-6", "claude-3-5-haiku-latest"]) {
      const off = await settings("anthropic", model, { ...SAMPLING, maxOutputTokens: 4_000 });
      expect(off).toEqual({ max_tokens: 4_000, temperature: 0.5, top_k: 40 });
      const without = await settings("anthropic", model, { ...others, maxOutputTokens: 4_000 });
      expect(without).toEqual({ max_tokens: 4_000, top_p: 0.8, top_k: 40 });
    }
    for (const model of ["claude-sonnet-4-5", "claude-opus-4-6"]) {
      const request = { effort: "high" } as const;
      const on = await settings(
        "anthropic",
        model,
        { ...SAMPLING, maxOutputTokens: 4_000 },
        { request },
      );
      expect(Object.keys(on)).not.toEqual(expect.arrayContaining(["temperature"]));
      expect(on).not.toHaveProperty("top_p");
      expect(on).not.toHaveProperty("top_k");
      expect(on).toHaveProperty("thinking");
    }
  });

  it("cloud vendor 2 gets them when an effort is asked for that turns no thinking on", async () => {
    const request = { effort: "high" } as const;
    // Too short an answer for the least budget, and a model that cannot think.
    const short = await settings(
      "anthropic",
      "claude-sonnet-4-5",
      { temperature: 0.5, maxOutputTokens: 1_024 },
      { request },
    );
    expect(short).toEqual({ max_tokens: 1_024, temperature: 0.5 });
    const plain = await settings(
      "anthropic",
      "claude-3-5-sonnet-latest",
      { temperature: 0.5, maxOutputTokens: 4_000 },
      { request },
    );
    expect(plain).toEqual({ max_tokens: 4_000, temperature: 0.5 });
    const off = await settings(
      "anthropic",
      "claude-opus-4-6",
      { temperature: 0.5, maxOutputTokens: 4_000 },
      { request: { effort: "none" } },
    );
    expect(off).toMatchObject({ temperature: 0.5, thinking: { type: "disabled" } });
  });

  it("cloud vendor 2's newest generation never gets one, whatever its effort", async () => {
    for (const model of [
      "claude-opus-4-7",
      "claude-opus-5",
      "claude-opus-5-5",
      "claude-unheard-9",
    ]) {
      for (const effort of [undefined, "none", "low", "max"] as const) {
        const parameters = { ...SAMPLING, temperature: 1, maxOutputTokens: 4_000 };
        const sent = await settings("anthropic", model, parameters, { request: { effort } });
        for (const name of ["temperature", "top_p", "top_k"]) expect(sent).not.toHaveProperty(name);
      }
    }
  });

  it("cloud vendor 2 gets no temperature beyond the end of its scale", async () => {
    expect(await settings("anthropic", "claude-opus-4-6", { temperature: 1.7 })).toMatchObject({
      temperature: 1,
    });
  });

  it("cloud vendor 3 gets all, thinking or not", async () => {
    const names = { temperature: 0.5, topP: 0.8, topK: 40 };
    expect(await settings("google", "gemini-2.5-flash", SAMPLING)).toEqual(names);
    const request = { effort: "high" } as const;
    expect(await settings("google", "gemini-3-pro", SAMPLING, { request })).toMatchObject(names);
  });

  it("cloud vendor 4 gets the first two", async () => {
    expect(await settings("compatible", "grok-4", SAMPLING)).toEqual({
      temperature: 0.5,
      top_p: 0.8,
    });
  });

  it.each([
    ["openai", "gpt-4o"],
    ["google", "gemini-2.0-flash"],
    ["compatible", "grok-4"],
  ] as const)("unset ones are not sent to %s", async (cloud, model) => {
    expect(await settings(cloud, model, {})).toEqual({});
  });
});

describe("4.3 max_tokens", () => {
  const parameters = { maxOutputTokens: 300 };

  it("is max_completion_tokens on reasoning models of cloud vendor 1", async () => {
    expect(await settings("openai", "gpt-4o", parameters)).toEqual({ max_tokens: 300 });
    expect(await settings("openai", "gpt-5", parameters)).toEqual({ max_completion_tokens: 300 });
    expect(await settings("openai", "o3", parameters)).toEqual({ max_completion_tokens: 300 });
  });

  it("has the other interface's name there, and its least value", async () => {
    const sent = await settings("openai", "gpt-5-pro", parameters);
    expect(sent).toMatchObject({ max_output_tokens: 300 });
    expect(sent).not.toHaveProperty("max_completion_tokens");
    expect(await settings("openai", "gpt-5-pro", { maxOutputTokens: 1 })).toMatchObject({
      max_output_tokens: 16,
    });
  });

  it("is applied by cloud vendors 2 and 4, and ignored by cloud vendor 3", async () => {
    expect(await settings("anthropic", "claude-opus-4-6", parameters)).toEqual({ max_tokens: 300 });
    expect(await settings("compatible", "grok-4", parameters)).toEqual({ max_tokens: 300 });
    expect(await settings("google", "gemini-2.5-flash", parameters)).toEqual({});
  });
});

describe("4.3 tools and tool_choice", () => {
  const request = {
    tools: [{ name: "look", parameters: { type: "object", properties: {} } }],
    toolChoice: { type: "auto" },
    parallelToolCalls: true,
  } as const;
  const names = ["tools", "tool_choice", "parallel_tool_calls"];

  it.each(["gpt-4o", "gpt-5", "gpt-5-pro"])(
    "are ignored by cloud vendor 1's %s unless the key has passthrough",
    async (model) => {
      const { body } = await sentBy(server, { cloud: "openai", model, request });
      for (const name of names) expect(body).not.toHaveProperty(name);
      const through = await sentBy(server, { cloud: "openai", model, request, passthrough: true });
      expect(Object.keys(through.body)).toEqual(expect.arrayContaining(["tools", "tool_choice"]));
    },
  );

  it.each([
    ["anthropic", "claude-opus-4-6"],
    ["google", "gemini-2.5-flash"],
    ["compatible", "grok-4"],
  ] as const)("are applied by %s", async (cloud, model) => {
    const { body } = await sentBy(server, { cloud, model, request });
    expect(JSON.stringify(body["tools"])).toContain("look");
  });
});

describe("Tools that Anthropic's models know and the client runs", () => {
  const native = (name: string, type: string) => ({ name, native: { type, name } });
  const BASH = native("bash", "bash_20250124");
  const forced = { type: "tool", name: "bash" } as const;

  it("go to these models as they are, and may be forced", async () => {
    const cacheControl = { type: "ephemeral" };
    const { body, headers } = await sentBy(server, {
      ...{ cloud: "anthropic", model: "claude-sonnet-4-5" },
      request: { tools: [{ ...BASH, cacheControl }, { name: "look" }], toolChoice: forced },
      onIgnored: () => expect.unreachable(),
    });
    expect(body["tools"]).toMatchObject([
      { type: "bash_20250124", name: "bash", cache_control: cacheControl },
      { name: "look", input_schema: { type: "object" } },
    ]);
    expect(Object.keys(Object(body["tools"])[0])).not.toContain("input_schema");
    expect(body["tool_choice"]).toEqual(forced);
    expect(headers.has("anthropic-beta")).toBe(false);
  });

  it.each([
    [["text_editor_20250728", "memory_20250818"], undefined],
    [["computer_20250124", "bash_20250124"], "computer-use-2025-01-24"],
    [["computer_20251124"], "computer-use-2025-11-24"],
    [["computer_20241022", "bash_20241022"], "computer-use-2024-10-22"],
  ])("bring the beta header that they need: %j", async (types, beta) => {
    const tools = types.map((type) => native(type, type));
    const model = "claude-opus-4-6";
    const { headers } = await sentBy(server, { cloud: "anthropic", model, request: { tools } });
    expect(headers.get("anthropic-beta")).toBe(beta);
    const options = { signal: new AbortController().signal };
    const asked = chatRequest({ tools });
    await cloudAt("anthropic", server.url).countTokens?.(
      asked,
      cloudModel("anthropic", model),
      options,
    );
    expect(lastCall(server).headers.get("anthropic-beta")).toBe(beta);
  });

  it.each([
    ["openai", "gpt-4o"],
    ["openai", "gpt-5-pro"],
    ["google", "gemini-2.5-flash"],
    ["compatible", "grok-4"],
  ] as const)("are not offered to %s's %s, which is said", async (cloud, model) => {
    const told: (readonly string[])[] = [];
    const onIgnored = (names: readonly string[]) => void told.push(names);
    const call = { cloud, model, onIgnored, passthrough: true } as const;
    const beside = { tools: [BASH, { name: "look" }], toolChoice: forced };
    const { body } = await sentBy(server, { ...call, request: beside });
    expect(JSON.stringify(body["tools"])).toContain("look");
    expect(JSON.stringify(body["tools"])).not.toContain("bash");
    expect(body).not.toHaveProperty("tool_choice");
    const alone = { tools: [BASH], toolChoice: { type: "required" } } as const;
    expect((await sentBy(server, { ...call, request: alone })).body).not.toHaveProperty("tools");
    const ignored = expect.arrayContaining(["tools[bash_20250124]", "tool_choice"]);
    expect(told).toEqual([ignored, ignored]);
    expect(told.flat()).not.toContain("tools");
  });
});

describe("What stands in no row of 4.3", () => {
  const parameters: GenerationParameters = {
    stop: ["END"],
    seed: 7,
    presencePenalty: 0.1,
    frequencyPenalty: 0.1,
    responseFormat: { type: "json_object" },
    logprobs: true,
    topLogprobs: 2,
    extra: { user: "u", metadata: { a: "b" }, service_tier: "flex" },
  };

  it.each([
    ["openai", "gpt-4o", {}],
    ["anthropic", "claude-opus-4-6", { max_tokens: 4_096 }],
    ["google", "gemini-2.5-flash", {}],
    ["compatible", "grok-4", {}],
  ] as const)("is ignored by %s", async (cloud, model, rest) => {
    expect(await settings(cloud, model, parameters)).toEqual(rest);
  });

  it.each([
    ["openai", "gpt-4o", { stop: ["END"], seed: 7, service_tier: "flex" }],
    ["anthropic", "claude-opus-4-6", { stop_sequences: ["END"], service_tier: "flex" }],
    ["google", "gemini-2.5-flash", { stopSequences: ["END"], seed: 7 }],
    ["compatible", "grok-4", { stop: ["END"], seed: 7, service_tier: "flex" }],
  ] as const)("goes to %s by the names that are forwarded", async (cloud, model, sent) => {
    const forward = ["stop", "seed", "service_tier"];
    expect(await settings(cloud, model, parameters, { forward })).toMatchObject(sent);
    const none = await settings(cloud, model, parameters, { forward });
    for (const name of ["user", "metadata", "logprobs", "response_format"]) {
      expect(none).not.toHaveProperty(name);
    }
  });
});
