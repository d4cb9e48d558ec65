import type { Call } from "./call.ts";
import type { Answer } from "./content/answer.ts";

const UNIQUE_FROM = 100_000;

/** Makes the told figures unique to the request where that is asked for; scripted ones stand. */
export function tellUsage({ entry, options, script }: Call, answer: Answer): Answer {
  if (!options.uniqueUsage || !answer.usage || script?.usage !== undefined) return answer;
  return { ...answer, usage: { ...answer.usage, inputTokens: UNIQUE_FROM + entry.sequence } };
}
