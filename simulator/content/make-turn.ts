import type { Turn } from "./turn.ts";

/** A turn whose answer depends on what it says, not on the format it came in. */
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
