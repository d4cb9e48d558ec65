import { describe, expect, it } from "vitest";
import {
  decideEffort,
  type EffortRule,
  sayEffort,
} from "../../../src/backends/rules/effort-rule.ts";
import { OLLAMA_EFFORT } from "../../../src/backends/vendors/ollama.ts";
import { VLLM_EFFORT } from "../../../src/backends/vendors/vllm.ts";
import { EFFORTS, type Effort } from "../../../src/core/chat/effort.ts";
import { chatRequest, MODEL } from "../support.ts";

function sent(rule: EffortRule, effort: Effort | undefined, id = "sim-chat", extra = {}): unknown {
  const request = { ...chatRequest({}, { extra }), ...(effort !== undefined && { effort }) };
  const model = { ...MODEL, id };
  const said = sayEffort(request, model, { setting: decideEffort(request, model, rule), rule });
  expect(said).not.toHaveProperty("effort");
  return said.parameters.extra;
}

const kwargs = (on: boolean) => ({ chat_template_kwargs: { enable_thinking: on, thinking: on } });

describe("4.4 the GPU-server engine: none is off, anything else is on, max is sent as high", () => {
  it.each([
    ["none", kwargs(false)],
    ["low", { ...kwargs(true), reasoning_effort: "low" }],
    ["medium", { ...kwargs(true), reasoning_effort: "medium" }],
    ["high", { ...kwargs(true), reasoning_effort: "high" }],
    ["max", { ...kwargs(true), reasoning_effort: "high" }],
  ] as const)("%s", (effort, fields) => {
    expect(sent(VLLM_EFFORT, effort)).toEqual(fields);
  });

  it("never sends a level that old versions refuse", () => {
    for (const effort of EFFORTS) {
      const { reasoning_effort } = sent(VLLM_EFFORT, effort) as { reasoning_effort?: string };
      expect([undefined, "low", "medium", "high"]).toContain(reasoning_effort);
    }
  });

  it("unset means the model's default: nothing is sent", () => {
    expect(sent(VLLM_EFFORT, undefined)).toEqual({});
  });

  it("keeps the client's other template arguments", () => {
    const asked = { chat_template_kwargs: { tone: "dry", enable_thinking: false } };
    expect(sent(VLLM_EFFORT, "high", "m", asked)).toEqual({
      chat_template_kwargs: { tone: "dry", enable_thinking: true, thinking: true },
      reasoning_effort: "high",
    });
    expect(sent(VLLM_EFFORT, undefined, "m", asked)).toEqual(asked);
  });
});

describe("4.4 the single-machine engine: none and high applied, max becomes high", () => {
  it.each([
    ["none", { think: false }],
    ["low", {}],
    ["medium", {}],
    ["high", { think: true }],
    ["max", { think: true }],
    [undefined, {}],
  ] as const)("%s", (effort, fields) => {
    expect(sent(OLLAMA_EFFORT, effort)).toEqual(fields);
  });

  it("says it in levels to models that know no switch", () => {
    expect(sent(OLLAMA_EFFORT, "max", "gpt-oss:20b")).toEqual({ think: "high" });
    expect(sent(OLLAMA_EFFORT, "none", "gpt-oss:20b")).toEqual({ think: false });
  });
});
