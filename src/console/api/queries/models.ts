import { useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

type ModelCard = Pick<
  components["schemas"]["Model"],
  "id" | "display_name" | "ext" | "owned_by" | "max_input_tokens"
>;

/** A model or assistant as pages need it. */
export interface Model {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  /** Where its words go, for one that is not answered by a local engine. */
  readonly leaves: string | undefined;
  readonly isAssistant: boolean;
  /** Context in tokens. */
  readonly context: number | null;
}

const CLOUDS: Readonly<Record<string, string>> = {
  openai: "OpenAI",
  anthropic: "Anthropic",
  google: "Google",
  gemini: "Google",
  "openai-compatible": "another service",
};
const PAGE = 1_000;

/** What one can ask: chat models, then assistants. */
export function useModels() {
  return useQuery({
    queryKey: ["models"],
    queryFn: async ({ signal }) => {
      const query = { limit: PAGE };
      const cards = await unwrap(api.GET("/api/v1/models", { params: { query }, signal }));
      return cards.data.map(toModel);
    },
    staleTime: 30_000,
  });
}

function toModel(card: ModelCard): Model {
  const { id, display_name: name, ext, owned_by: owner, max_input_tokens: context } = card;
  const isAssistant = ext?.assistant_id !== undefined;
  const size = context === null ? "" : ` · ${context.toLocaleString("en")} tokens`;
  return {
    ...{ id, name, isAssistant, context },
    hint: isAssistant ? (ext?.description ?? "Assistant") : `${owner}${size}`,
    leaves: CLOUDS[owner],
  };
}
