import type { ChatRequest } from "../../core/chat/chat-request.ts";
import type { Model } from "../backend.ts";

/** The input of a backend's rules. */
export interface Situation {
  readonly request: ChatRequest;
  readonly model: Model;
  /** True when this call enables the model's thinking. */
  readonly thinks: boolean;
}

/** The smallest budget that Anthropic accepts. The output limit must be larger than the budget. */
export const LEAST_BUDGET_TOKENS = 1_024;

const CONDITIONS = {
  "tool-capable": ({ model }) => model.tools,
  reasoning: ({ model }) => model.thinking,
  "not-reasoning": ({ model }) => !model.thinking,
  "takes-sampling": ({ model }) => model.sampling !== false,
  "thinking-off": ({ thinks }) => !thinks,
  "uses-tools": ({ request }) => request.tools.length > 0,
  "forced-tool": ({ request }) => isToolForced(request),
  "short-answer": ({ request }) =>
    (request.parameters.maxOutputTokens ?? Number.POSITIVE_INFINITY) <= LEAST_BUDGET_TOKENS,
} satisfies Record<string, (situation: Situation) => boolean>;

export type Condition = keyof typeof CONDITIONS;

/** Returns whether a rule's condition holds for a call. */
export function holds(condition: Condition, situation: Situation): boolean {
  return CONDITIONS[condition](situation);
}

/** Returns true when the client requires a tool call. */
export function isToolForced({ tools, toolChoice }: ChatRequest): boolean {
  return tools.length > 0 && (toolChoice?.type === "required" || toolChoice?.type === "tool");
}
