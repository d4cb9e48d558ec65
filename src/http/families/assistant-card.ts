import type { Model } from "../../backends/backend.ts";
import type { ModelCatalog, Target } from "../../backends/models/model-catalog.ts";
import type { Caller } from "../../core/callers/caller.ts";
import type { Assistant } from "../../knowledge/assistants/assistant.ts";
import { callableName, shownName } from "../../knowledge/assistants/assistant-index.ts";
import { type ModelCard, modelCard } from "./model-card.ts";

/** The owner that the cards of assistants name, as those of models name a vendor. */
const OWNED_BY = "assistant";
/** What a card shows while no model is listed. */
const NO_MODEL: Omit<Model, "id" | "created" | "ownedBy"> = {
  backend: "",
  contextLength: undefined,
  tools: false,
  vision: false,
  documents: false,
  audio: false,
  thinking: false,
};

/**
 * Builds the cards of assistants: the name by which each is called, and what the model behind it can do. A model that
 * is listed under an assistant's name answers to it, so that assistant is shown under its id.
 */
export async function assistantCards(
  assistants: readonly Assistant[],
  models: Pick<ModelCatalog, "find" | "resolve">,
  caller: Caller,
): Promise<readonly ModelCard[]> {
  if (assistants.length === 0) return [];
  const byDefault = await defaultTarget(models);
  return assistants.map((assistant) => {
    const { id: assistantId, slug, description } = assistant;
    const name = callableName(assistant, caller);
    const target = assistant.model === null ? undefined : models.find(assistant.model);
    const card = modelCard({
      ...((target ?? byDefault)?.model ?? NO_MODEL),
      id: models.find(name) === undefined ? name : assistantId,
      created: Math.floor(assistant.createdAt.getTime() / 1_000),
      ownedBy: OWNED_BY,
    });
    return {
      ...card,
      display_name: shownName(assistant),
      ext: { ...card.ext, assistant_id: assistantId, slug, description },
    };
  });
}

async function defaultTarget(models: Pick<ModelCatalog, "resolve">): Promise<Target | undefined> {
  try {
    return await models.resolve(undefined);
  } catch {
    return undefined;
  }
}
