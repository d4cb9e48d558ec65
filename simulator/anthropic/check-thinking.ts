import { type Json, numberOf, objectOf, stringOf } from "../json.ts";
import { invalid } from "./anthropic-error.ts";
import type { AnthropicTraits } from "./anthropic-models.ts";

const TYPES = ["adaptive", "between_tools", "disabled", "enabled"];
const EFFORTS = ["low", "medium", "high", "xhigh", "max"];
const LEAST_BUDGET = 1024;
const GUIDE =
  "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking";

export interface Thinking {
  readonly thinks: boolean;
  /** A budget was given: the older mode, which has its own rules for the conversation. */
  readonly isBudgeted: boolean;
  /** The text of the reasoning is omitted. */
  readonly isOmitted: boolean;
}

/** Determines how the model thinks. Throws Anthropic's errors for thinking, effort, sampling and tool choice. */
export function checkThinking(body: Json, traits: AnthropicTraits): Thinking {
  const effort = checkEffort(body, traits);
  const thinking = objectOf(body["thinking"]);
  const type = thinking ? checkType(thinking, traits, effort) : undefined;
  if (type === "enabled") checkBudget(thinking ?? {}, numberOf(body["max_tokens"]));
  const thinks = type === undefined ? traits.thinksByDefault : type !== "disabled";
  checkSampling(body, traits, thinks);
  const choice = stringOf(objectOf(body["tool_choice"])?.["type"]);
  if (choice === "any" || choice === "tool") checkForcedTool(traits, thinks);
  const isOmitted = thinking?.["display"] === "omitted";
  return { thinks, isBudgeted: type === "enabled", isOmitted };
}

function checkEffort(body: Json, { efforts }: AnthropicTraits): string | undefined {
  const effort = objectOf(body["output_config"])?.["effort"];
  if (effort === undefined || effort === null) return undefined;
  if (!EFFORTS.includes(String(effort))) {
    throw invalid(
      "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    );
  }
  if (efforts.length === 0) throw invalid("This model does not support the effort parameter.");
  if (!efforts.includes(String(effort))) {
    const known = [...efforts].sort().join(", ");
    throw invalid(
      `This model does not support effort level '${String(effort)}'. Supported levels: ${known}.`,
    );
  }
  return String(effort);
}

function checkType(thinking: Json, traits: AnthropicTraits, effort: string | undefined): string {
  const type = String(thinking["type"]);
  if (!TYPES.includes(type)) {
    const known = TYPES.map((name) => `'${name}'`).join(", ");
    throw invalid(
      `thinking: Input tag '${type}' found using 'type' does not match any of the expected tags: ${known}`,
    );
  }
  const takes: readonly string[] = traits.thinking;
  if (!takes.includes(type)) throw invalid(refusalOfType(type));
  const isLeast = type === "disabled" || type === "between_tools";
  const isTooMuch = effort === "xhigh" || effort === "max";
  if (isLeast && isTooMuch && traits.leastThinkingUpTo === "high") {
    throw invalid(
      `"thinking.type.${type}" is not supported with "output_config.effort" above "high" for this model.`,
    );
  }
  return type;
}

function refusalOfType(type: string): string {
  switch (type) {
    case "enabled":
      return '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
    case "adaptive":
      return "adaptive thinking is not supported on this model";
    default:
      return `"thinking.type.${type}" is not supported for this model.`;
  }
}

function checkBudget(thinking: Json, maxTokens: number | undefined): void {
  const budget = numberOf(thinking["budget_tokens"]);
  if (budget === undefined) throw invalid("thinking.enabled.budget_tokens: Field required");
  if (budget < LEAST_BUDGET) {
    throw invalid(
      `thinking.enabled.budget_tokens: Input should be greater than or equal to ${LEAST_BUDGET}`,
    );
  }
  if (maxTokens !== undefined && maxTokens <= budget) {
    throw invalid(
      `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${GUIDE}#max-tokens-and-context-window-size`,
    );
  }
}

function checkSampling(body: Json, traits: AnthropicTraits, thinks: boolean): void {
  const temperature = numberOf(body["temperature"]);
  const topP = numberOf(body["top_p"]);
  const topK = numberOf(body["top_k"]);
  if (traits.sampling === "defaults") {
    const isUsual = (temperature ?? 1) === 1 && (topP ?? 1) >= 0.99 && topK === undefined;
    if (isUsual) return;
    const [named] = Object.entries({ temperature, top_p: topP, top_k: topK }).filter(
      ([name, value]) => value !== undefined && !(name === "temperature" && value === 1),
    );
    throw invalid(`\`${named?.[0]}\` is deprecated for this model.`);
  }
  if (!traits.temperatureAndTopP && temperature !== undefined && topP !== undefined) {
    throw invalid(
      "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    );
  }
  if (!thinks) return;
  if (temperature !== undefined && temperature !== 1) {
    throw invalid(`\`temperature\` may only be set to 1 when thinking is enabled. ${GUIDE}`);
  }
  if (topK !== undefined)
    throw invalid(`\`top_k\` must be unset when thinking is enabled. ${GUIDE}`);
  if (topP !== undefined && topP < 0.95) {
    throw invalid(
      `\`top_p\` must be greater than or equal to 0.95 or unset when thinking is enabled. ${GUIDE}`,
    );
  }
}

function checkForcedTool(traits: AnthropicTraits, thinks: boolean): void {
  if (!traits.forcedTools) {
    throw invalid("tool_choice: forced tool use is not supported for this model.");
  }
  if (thinks) throw invalid("Thinking may not be enabled when tool_choice forces tool use.");
}
