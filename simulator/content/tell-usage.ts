import type { Call } from "../call.ts";
import type { Answer } from "./answer.ts";

const UNIQUE_FROM = 100_000;

/**
 * Makes the reported usage unique to the request if `uniqueUsage` is set, and adds the cached tokens if the engine
 * reports them; scripted usage stays unchanged.
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
