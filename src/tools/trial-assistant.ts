import type { Assistant } from "../knowledge/assistants/assistant.ts";

/** Stands for an assistant's id where there is none. */
export const TRIAL_ID = "";

/**
 * Returns an assistant that exists for one call of a tool, by which an administrator tries it: with all tools and
 * connections, which an administrator may give to any assistant.
 *
 * @param vectorStoreIds exist for the caller.
 */
export function trialAssistant(ownerId: string, vectorStoreIds: readonly string[]): Assistant {
  return {
    id: TRIAL_ID,
    name: null,
    slug: "",
    model: null,
    description: null,
    instructions: null,
    tools: ["*"],
    vectorStoreIds,
    metadata: {},
    temperature: null,
    topP: null,
    reasoningEffort: null,
    responseFormat: null,
    maxLevel: "full_auto",
    sqlConnections: ["*"],
    fileConnections: ["*"],
    grounding: null,
    topK: null,
    minSimilarity: null,
    noAnswerText: null,
    createdAt: new Date(0),
    ownerId,
    visibility: "private",
  };
}
