import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  applyParameterRules,
  LOCAL_PARAMETERS,
  type ParameterRule,
  type ParameterTable,
} from "../../src/backends/parameter-rules.ts";
import { chatRequest, MODEL } from "./support.ts";

const SPECIFICATION = "../shared/spec.md";

const ROWS: readonly (readonly [title: string, name: keyof ParameterTable, words: string])[] = [
  ["temperature", "temperature", "applied"],
  ["top_p", "top_p", "applied"],
  ["top_k", "top_k", "applied"],
  ["max_tokens", "max_tokens", "adjusted to fit the context"],
  ["reasoning_effort", "reasoning_effort", "see 4.4"],
  ["tools / tool_choice", "tools", "only for tool-capable models"],
  ["stream", "stream", "applied"],
];

function inWords(rule: ParameterRule): string {
  switch (rule.rule) {
    case "apply":
      return "applied";
    case "ignore":
      return "ignored";
    case "clamp":
      return `adjusted to fit the ${rule.to}`;
    case "rename":
      return `converted to \`${rule.to}\``;
    case "exclusive":
      return `exclusive with ${rule.yieldsTo}`;
    case "only-when":
      return `only for ${rule.model.replace(/s$/, "")}-capable models`;
    case "effort":
      return "see 4.4";
  }
}

/** The column "Local" of table 4.3, row title to words, as the specification prints it. */
function specifiedLocalColumn(): ReadonlyMap<string, string> {
  const section = readFileSync(SPECIFICATION, "utf8").split("### 4.3")[1]!.split("### 4.4")[0]!;
  const rows = section.split("\n").filter((line) => line.startsWith("| "));
  return new Map(
    rows
      .map((row) => row.split("|").map((cell) => cell.trim()))
      .map((cells) => [cells[1]!, cells[2]!]),
  );
}

describe("4.3 parameters on local engines", () => {
  it.each(ROWS)("%s", (_title, name, words) => {
    const rule = LOCAL_PARAMETERS[name];
    if (rule.rule === "apply" && "except" in rule) throw new Error("no row of the table");
    expect(inWords(rule)).toBe(words);
  });

  if (existsSync(SPECIFICATION)) {
    it("is the column that the specification prints", () => {
      const column = specifiedLocalColumn();
      for (const [title, , words] of ROWS) {
        expect(column.get(title)?.replace(" (SSE)", "")).toBe(words);
      }
    });
  }

  it("sends set generation parameters unchanged and leaves unset ones unset", () => {
    const parameters = { temperature: 0.3, topP: 0.9, topK: 40, stop: ["END"], seed: 7 };
    const applied = applyParameterRules(chatRequest({}, parameters), MODEL, LOCAL_PARAMETERS);
    expect(applied.parameters).toEqual({ maxOutputTokens: 64, ...parameters });
  });

  it("hands everything else through but what harms other users", () => {
    const harmful = {
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
    const request = chatRequest({}, { extra: { ...harmful, ...harmless } });
    const applied = applyParameterRules(request, MODEL, LOCAL_PARAMETERS);
    expect(applied.parameters.extra).toEqual(harmless);
  });

  it("treats names of the language's own as plain fields", () => {
    const extra = JSON.parse('{"__proto__": {"n": 5}, "constructor": 1}');
    const applied = applyParameterRules(chatRequest({}, { extra }), MODEL, LOCAL_PARAMETERS);
    expect(Object.keys(applied.parameters.extra ?? {})).toEqual(["__proto__", "constructor"]);
    expect(applied.parameters.extra?.["n"]).toBeUndefined();
  });

  it("drops tools and all that speaks of them for a model without tools", () => {
    const tools = [{ name: "look" }];
    const request = chatRequest({ tools, toolChoice: { type: "auto" }, parallelToolCalls: false });
    const plain = applyParameterRules(request, { ...MODEL, tools: false }, LOCAL_PARAMETERS);
    expect(plain.tools).toEqual([]);
    expect(plain).not.toHaveProperty("toolChoice");
    expect(plain).not.toHaveProperty("parallelToolCalls");
    const able = applyParameterRules(request, MODEL, LOCAL_PARAMETERS);
    expect(able).toMatchObject({ tools, toolChoice: { type: "auto" }, parallelToolCalls: false });
  });
});

describe("parameter rules as data", () => {
  const table = (rules: Partial<ParameterTable>): ParameterTable => ({
    ...LOCAL_PARAMETERS,
    ...rules,
  });
  const apply = (rules: Partial<ParameterTable>, parameters = {}) =>
    applyParameterRules(chatRequest({}, parameters), MODEL, table(rules)).parameters;

  it("ignore leaves the parameter out", () => {
    expect(apply({ top_k: { rule: "ignore" } }, { topK: 4 })).toEqual({ maxOutputTokens: 64 });
  });

  it("rename sends it under another name", () => {
    const renamed = apply({ max_tokens: { rule: "rename", to: "max_completion_tokens" } });
    expect(renamed).toEqual({ extra: { max_completion_tokens: 64 } });
  });

  it("exclusive yields to the other parameter when that is set", () => {
    const rules: Partial<ParameterTable> = {
      top_p: { rule: "exclusive", yieldsTo: "temperature" },
    };
    expect(apply(rules, { topP: 0.5 })).toMatchObject({ topP: 0.5 });
    expect(apply(rules, { topP: 0.5, temperature: 1 })).not.toHaveProperty("topP");
  });

  it("only-when asks what the model can do", () => {
    const rules: Partial<ParameterTable> = {
      temperature: { rule: "only-when", model: "thinking" },
    };
    const request = chatRequest({}, { temperature: 1 });
    const plain = applyParameterRules(request, { ...MODEL, thinking: false }, table(rules));
    expect(plain.parameters).not.toHaveProperty("temperature");
  });
});
