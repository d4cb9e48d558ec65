import type { ChatRequest } from "../../core/chat-request.ts";
import type { Model } from "../backend.ts";

/** What the rules of a backend may depend on. */
export interface Situation {
  readonly request: ChatRequest;
  readonly model: Model;
  /** The model is told to think on this call. */
  readonly thinks: boolean;
}

/** The least budget Anthropic takes: an answer must be longer than what was thought for it. */
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

/** Whether a condition of a rule holds for a call. */
export function holds(condition: Condition, situation: Situation): boolean {
  return CONDITIONS[condition](situation);
}

/** The client lets the model do nothing but call a tool. */
export function isToolForced({ tools, toolChoice }: ChatRequest): boolean {
  return tools.length > 0 && (toolChoice?.type === "required" || toolChoice?.type === "tool");
}
