import { describe, expect, it } from "vitest";
import { findIgnored } from "../../../src/backends/rules/ignored-parameters.ts";
import {
  applyParameterRules,
  applyToolRule,
  LOCAL_PARAMETERS,
  type ParameterTable,
} from "../../../src/backends/rules/parameter-rules.ts";
import type { GenerationParameters } from "../../../src/core/chat/chat-request.ts";
import { chatRequest, MODEL } from "../support.ts";

function apply(
  table: ParameterTable,
  parameters: GenerationParameters,
  { model = MODEL, thinks = false } = {},
): GenerationParameters {
  return applyParameterRules({ request: chatRequest({}, parameters), model, thinks }, table);
}

const plain = (rules: Partial<ParameterTable>): ParameterTable => ({
  ...LOCAL_PARAMETERS,
  ...rules,
});

describe("4.3 parameters on local engines", () => {
  it("sends set generation parameters unchanged and leaves unset ones unset", () => {
    const parameters = { temperature: 0.3, topP: 0.9, topK: 40, stop: ["END"], seed: 7 };
    const applied = apply(LOCAL_PARAMETERS, parameters);
    expect(applied).toEqual({ maxOutputTokens: 64, ...parameters });
  });

  it("hands everything else through but what harms other users", () => {
    const harmful = {
      api_base: "http://10.0.0.1",
      base_url: "http://10.0.0.1",
      data_parallel_rank: 0,
      extra_body: { n: 3 },
      kv_transfer_params: { do_remote_prefill: true },
      logits_processors: ["a.b"],
      lora_request: { lora_path: "/" },
      media_io_kwargs: {},
      mm_processor_kwargs: {},
      prompt_logprobs: 20,
      best_of: 9,
      cache_salt: "x",
      chat_template: "{{evil}}",
      keep_alive: 0,
      n: 3,
      priority: -100,
      request_id: "1",
      vllm_xargs: {},
    };
    const harmless = { min_p: 0.1, repetition_penalty: 1.1, guided_choice: ["a", "b"] };
    const applied = apply(LOCAL_PARAMETERS, { extra: { ...harmful, ...harmless } });
    expect(applied.extra).toEqual(harmless);
  });

  it("drops templates, long patterns and answers that may not end, and names them", () => {
    const long = "(a|b)".repeat(1_000);
    const asked = {
      chat_template_kwargs: { chat_template: "{{evil}}", tokenize: true, enable_thinking: false },
      structured_outputs: { regex: long, whitespace_pattern: " " },
      guided_regex: long,
      guided_grammar: "root ::= 'a'",
      min_tokens: 9_000,
      ignore_eos: true,
    };
    const applied = apply(LOCAL_PARAMETERS, { extra: asked });
    expect(applied.extra).toEqual({
      chat_template_kwargs: { enable_thinking: false },
      structured_outputs: { whitespace_pattern: " " },
      guided_grammar: "root ::= 'a'",
    });
    const named = findIgnored(
      chatRequest({}, { extra: asked }),
      chatRequest({}, applied),
      LOCAL_PARAMETERS,
    );
    expect(named.sort()).toEqual([
      "chat_template_kwargs.chat_template",
      "chat_template_kwargs.tokenize",
      "guided_regex",
      "ignore_eos",
      "min_tokens",
      "structured_outputs.regex",
    ]);
    expect(apply(LOCAL_PARAMETERS, { extra: { min_tokens: 5 } }).extra).toEqual({ min_tokens: 5 });
  });

  it("treats names of the language's own as plain fields", () => {
    const extra = JSON.parse('{"__proto__": {"n": 5}, "constructor": 1}');
    const applied = apply(LOCAL_PARAMETERS, { extra });
    expect(Object.keys(applied.extra ?? {})).toEqual(["__proto__", "constructor"]);
    expect(applied.extra?.["n"]).toBeUndefined();
  });
});

describe("The row of tools", () => {
  const tools = [{ name: "look" }];
  const request = chatRequest({ tools, toolChoice: { type: "auto" }, parallelToolCalls: false });
  const incapable = { ...MODEL, tools: false };

  it("drops tools and all that speaks of them for a model without tools", () => {
    const given = { table: LOCAL_PARAMETERS, passthrough: false };
    const without = applyToolRule(request, incapable, given);
    expect(without.tools).toEqual([]);
    expect(without).not.toHaveProperty("toolChoice");
    expect(without).not.toHaveProperty("parallelToolCalls");
    expect(applyToolRule(request, MODEL, given)).toBe(request);
  });

  it("does not hold for a key with passthrough", () => {
    const table = plain({ tools: { rule: "ignore" } });
    expect(applyToolRule(request, incapable, { table, passthrough: true })).toBe(request);
    expect(applyToolRule(request, MODEL, { table, passthrough: false }).tools).toEqual([]);
  });
});

describe("Parameter rules as data", () => {
  it("ignore leaves the parameter out", () => {
    expect(apply(plain({ top_k: { rule: "ignore" } }), { topK: 4 })).toEqual({
      maxOutputTokens: 64,
    });
  });

  it("rename sends it under another name where its condition holds", () => {
    const table = plain({
      max_tokens: { rule: "rename", to: "max_completion_tokens", when: "reasoning" },
    });
    expect(apply(table, {})).toEqual({ extra: { max_completion_tokens: 64 } });
    const model = { ...MODEL, thinking: false };
    expect(apply(table, {}, { model })).toEqual({ maxOutputTokens: 64 });
  });

  it("exclusive yields to the other parameter when that is set, and to its conditions", () => {
    const table = plain({
      top_p: { rule: "exclusive", yieldsTo: "temperature", all: ["thinking-off"] },
    });
    expect(apply(table, { topP: 0.5 })).toMatchObject({ topP: 0.5 });
    expect(apply(table, { topP: 0.5, temperature: 1 })).not.toHaveProperty("topP");
    expect(apply(table, { topP: 0.5 }, { thinks: true })).not.toHaveProperty("topP");
  });

  it("only-when asks that all its conditions hold", () => {
    const table = plain({
      temperature: { rule: "only-when", all: ["thinking-off", "takes-sampling"] },
    });
    const kept = (situation: Parameters<typeof apply>[2]) =>
      apply(table, { temperature: 0.5 }, situation).temperature !== undefined;
    expect(kept({})).toBe(true);
    expect(kept({ thinks: true })).toBe(false);
    expect(kept({ model: { ...MODEL, sampling: false } })).toBe(false);
  });

  it("what stands in no row is ignored but for the names that are forwarded", () => {
    const parameters: GenerationParameters = {
      stop: ["END"],
      seed: 7,
      presencePenalty: 1,
      frequencyPenalty: 1,
      responseFormat: { type: "json_object" },
      logprobs: true,
      topLogprobs: 2,
      extra: { user: "u", verbosity: "low" },
    };
    const others = (forward: string[]) => plain({ others: { rule: "ignore", forward } });
    expect(apply(others([]), parameters)).toEqual({ maxOutputTokens: 64 });
    expect(apply(others(["stop", "response_format", "verbosity"]), parameters)).toEqual({
      maxOutputTokens: 64,
      stop: ["END"],
      responseFormat: { type: "json_object" },
      extra: { verbosity: "low" },
    });
  });
});
