import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { EffortRule } from "../../../src/backends/rules/effort-rule.ts";
import {
  LOCAL_PARAMETERS,
  type ParameterRule,
  type ParameterTable,
} from "../../../src/backends/rules/parameter-rules.ts";
import {
  ANTHROPIC_NEWER_EFFORT,
  ANTHROPIC_OLDER_EFFORT,
  ANTHROPIC_PARAMETERS,
} from "../../../src/backends/vendors/anthropic.ts";
import {
  COMPATIBLE_EFFORT,
  COMPATIBLE_PARAMETERS,
} from "../../../src/backends/vendors/compatible.ts";
import { GOOGLE_EFFORT, GOOGLE_PARAMETERS } from "../../../src/backends/vendors/google.ts";
import { OLLAMA_EFFORT } from "../../../src/backends/vendors/ollama.ts";
import { OPENAI_EFFORT, OPENAI_PARAMETERS } from "../../../src/backends/vendors/openai.ts";
import { VLLM_EFFORT } from "../../../src/backends/vendors/vllm.ts";
import { EFFORTS } from "../../../src/core/chat/effort.ts";
import { chatRequest, MODEL } from "../support.ts";

const SPECIFICATION = "../shared/spec.md";

// The tables as they are printed from the backends' data, and as the specification prints them.

const SAMPLING = ["thinking-off", "takes-sampling"].join();

const COLUMNS: readonly ParameterTable[] = [
  LOCAL_PARAMETERS,
  OPENAI_PARAMETERS,
  ANTHROPIC_PARAMETERS,
  GOOGLE_PARAMETERS,
  COMPATIBLE_PARAMETERS,
];

const PARAMETERS: Readonly<Record<string, readonly [keyof ParameterTable, ...string[]]>> = {
  temperature: [
    "temperature",
    "applied",
    "ignored on reasoning models",
    "applied only with thinking off (never for the newest generation)",
    "applied",
    "applied",
  ],
  top_p: [
    "top_p",
    "applied",
    "ignored on reasoning models",
    "exclusive with temperature, temperature wins; same condition",
    "applied",
    "applied",
  ],
  top_k: ["top_k", "applied", "ignored", "same condition as temperature", "applied", "ignored"],
  max_tokens: [
    "max_tokens",
    "adjusted to fit the context",
    "converted to `max_completion_tokens` on reasoning models",
    "rounded within the model limit",
    "ignored (model default)",
    "applied",
  ],
  reasoning_effort: ["reasoning_effort", "see 4.4", "see 4.4", "see 4.4", "see 4.4", "ignored"],
  "tools / tool_choice": [
    "tools",
    "only for tool-capable models",
    "ignored",
    "applied",
    "applied",
    "applied",
  ],
  stream: ["stream", "applied (SSE)", "applied", "applied", "applied", "applied"],
};

function parameterInWords(table: ParameterTable, name: keyof ParameterTable): string {
  if (name === "others") throw new Error("no row of the table");
  const words = ruleInWords(table[name], table);
  if (name === "top_k" && words === ruleInWords(table.temperature, table)) {
    return words === "applied" ? words : "same condition as temperature";
  }
  if (name === "max_tokens" && words === "ignored") return "ignored (model default)";
  return name === "stream" && table === LOCAL_PARAMETERS ? `${words} (SSE)` : words;
}

function ruleInWords(rule: ParameterRule, table: ParameterTable): string {
  switch (rule.rule) {
    case "apply":
      return "applied";
    case "ignore":
      return "ignored";
    case "effort":
      return "see 4.4";
    case "clamp":
      return rule.to === "context"
        ? "adjusted to fit the context"
        : "rounded within the model limit";
    case "rename":
      return `converted to \`${rule.to}\` on ${rule.when} models`;
    case "exclusive": {
      const words = `exclusive with ${rule.yieldsTo}, ${rule.yieldsTo} wins`;
      const other = table[rule.yieldsTo];
      const isSame = other.rule === "only-when" && other.all.join() === rule.all.join();
      return isSame ? `${words}; same condition` : words;
    }
    case "only-when":
      return conditionsInWords(rule.all.join());
  }
}

function conditionsInWords(conditions: string): string {
  switch (conditions) {
    case "tool-capable":
      return "only for tool-capable models";
    case "not-reasoning":
      return "ignored on reasoning models";
    case SAMPLING:
      return "applied only with thinking off (never for the newest generation)";
    default:
      return conditions;
  }
}

const EFFORT_ROWS: readonly (readonly [title: string, rule: EffortRule, words: string])[] = [
  [
    "Local GPU-server engine",
    VLLM_EFFORT,
    "on/off: `none` is off, anything else is on; `max` is sent as `high`",
  ],
  [
    "Local single-machine engine",
    OLLAMA_EFFORT,
    "`none` and `high` applied (`max` becomes `high`)",
  ],
  [
    "Cloud vendor 1 reasoning models",
    OPENAI_EFFORT,
    "applied as given (`none` only from a certain newer generation). Not sent when tools are used.",
  ],
  [
    "Cloud vendor 2, newer generation",
    ANTHROPIC_NEWER_EFFORT,
    "adaptive thinking plus effort. `none` turns thinking off. Always-thinking models behave as the model default.",
  ],
  ["Cloud vendor 2, older generation", ANTHROPIC_OLDER_EFFORT, "on/off: `low` or above is on"],
  ["Cloud vendor 3", GOOGLE_EFFORT, "`none` and `high` applied (`max` becomes `high`)"],
  ["Cloud vendor 4", COMPATIBLE_EFFORT, "unsupported, model default"],
];

/** The table of a rule on one line: `none low medium high max`. */
const EFFORT_WORDS: Readonly<Record<string, string>> = {
  "off low medium high high": "on/off: `none` is off, anything else is on; `max` is sent as `high`",
  "off default default on on": "`none` and `high` applied (`max` becomes `high`)",
  "off low medium high max": "applied as given",
  "default on on on on": "on/off: `low` or above is on",
  "default default default default default": "unsupported, model default",
};

const fixed = { ...MODEL, efforts: ["low", "high"] } as const;
const switchable = { ...MODEL, efforts: ["none", "low", "high"] } as const;

function effortInWords({ table, unless = [], fields }: EffortRule): string {
  let words = EFFORT_WORDS[EFFORTS.map((effort) => table[effort]).join(" ")] ?? "";
  if (words !== "applied as given") return words;
  const request = chatRequest();
  const canTurnOff = Object.keys(fields("off", switchable, request)).length > 0;
  const leavesOthers = Object.keys(fields("off", fixed, request)).length === 0;
  if (JSON.stringify(fields("high", switchable, request)).includes("adaptive")) {
    words = "adaptive thinking plus effort.";
    if (canTurnOff) words += " `none` turns thinking off.";
    return leavesOthers ? `${words} Always-thinking models behave as the model default.` : words;
  }
  if (canTurnOff && leavesOthers) words += " (`none` only from a certain newer generation)";
  return unless.includes("uses-tools") ? `${words}. Not sent when tools are used.` : words;
}

/** The rows of a section's table: title to cells. */
function specifiedRows(section: string, next: string): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(SPECIFICATION, "utf8").split(`### ${section}`)[1]!.split(next)[0]!;
  const rows = text.split("\n").filter((line) => line.startsWith("| "));
  return new Map(
    rows
      .map((row) => row.split("|").map((cell) => cell.trim()))
      .map((cells) => [cells[1]!, cells.slice(2, -1)]),
  );
}

describe("4.3 parameter handling by backend", () => {
  it.each(Object.entries(PARAMETERS))("%s", (_title, [name, ...words]) => {
    expect(COLUMNS.map((table) => parameterInWords(table, name))).toEqual(words);
  });

  it("what stands in no row goes to local engines and to no cloud", () => {
    expect(COLUMNS.map(({ others }) => others.rule)).toEqual([
      "apply",
      "ignore",
      "ignore",
      "ignore",
      "ignore",
    ]);
  });
});

describe("4.4 reasoning effort by backend", () => {
  it.each(EFFORT_ROWS)("%s", (_title, rule, words) => {
    expect(effortInWords(rule)).toBe(words);
  });
});

describe.skipIf(!existsSync(SPECIFICATION))("The specification", () => {
  it("prints the table of parameters so", () => {
    const rows = specifiedRows("4.3", "### 4.4");
    expect([...rows.keys()].slice(1)).toEqual(Object.keys(PARAMETERS));
    for (const [title, [, ...words]] of Object.entries(PARAMETERS)) {
      expect([title, ...(rows.get(title) ?? [])]).toEqual([title, ...words]);
    }
  });

  it("prints the table of efforts so", () => {
    const rows = specifiedRows("4.4", "### 4.5");
    expect([...rows.keys()].slice(1)).toEqual(EFFORT_ROWS.map(([title]) => title));
    // That a model is asked again without the setting is no matter of the table.
    const retried = " A model without thinking is retried automatically without the setting.";
    for (const [title, , words] of EFFORT_ROWS) {
      expect(rows.get(title)?.[0]?.replace(`.${retried}`, "")).toBe(words);
    }
  });
});
