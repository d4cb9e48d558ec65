import type { Call } from "../call.ts";
import type { Answer } from "./answer.ts";

const UNIQUE_FROM = 100_000;

/**
 * Makes the told figures unique to the request where that is asked for, and adds the cached tokens where the engine tells
 * them; scripted figures stand.
 */
export function tellUsage(
  { entry, options, script }: Call,
  answer: Answer,
  cachedTokens?: number,
): Answer {
  if (!answer.usage || script?.usage !== undefined) return answer;
  const unique = options.uniqueUsage && { inputTokens: UNIQUE_FROM + entry.sequence };
  const cached = cachedTokens !== undefined && { cachedTokens };
  return { ...answer, usage: { ...answer.usage, ...unique, ...cached } };
}
