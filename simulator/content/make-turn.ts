import type { Turn } from "./turn.ts";

/** Creates a turn whose answer depends on its content, not on the request's format. */
export function makeTurn(
  said: Omit<Turn, "fingerprint" | "topLogprobs"> & Partial<Pick<Turn, "topLogprobs">>,
): Turn {
  const { messages, tools, toolChoice, schema, thinks, stop, maxTokens } = said;
  const fingerprint = JSON.stringify([
    messages,
    tools,
    toolChoice,
    schema,
    thinks,
    stop,
    maxTokens,
  ]);
  return { topLogprobs: undefined, ...said, fingerprint };
}
