import { useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

type ModelCard = Pick<
  components["schemas"]["Model"],
  "id" | "display_name" | "ext" | "max_input_tokens" | "max_tokens" | "capabilities"
>;
export type ModelFigures = components["schemas"]["ModelFigures"];

export type Ability = (typeof ABILITIES)[keyof typeof ABILITIES];

/** A model or assistant as pages need it. */
export interface Model {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly kind: "chat" | "embedding" | "assistant";
  /** What answers: the local engine or a cloud; null while an assistant has no model. */
  readonly backend: string | null;
  /** Where its words go, for one that is not answered by a local engine. */
  readonly leaves: string | undefined;
  /** Of an assistant. */
  readonly assistantId: string | undefined;
  readonly description: string | null;
  /** Context in tokens. */
  readonly context: number | null;
  /** The most tokens of one answer; null where only the context limits it. */
  readonly output: number | null;
  /** What it takes and does beside text, as far as its server tells. */
  readonly abilities: readonly Ability[];
}

const CLOUDS: Readonly<Record<string, string>> = {
  openai: "OpenAI",
  anthropic: "Anthropic",
  google: "Google",
  compatible: "another service",
};
const ABILITIES = {
  tools: "tools",
  image_input: "images",
  pdf_input: "PDF",
  audio_input: "audio",
  thinking: "thinking",
} as const;
const PAGE = 1_000;
const FRESH_MS = 30_000;
const FIGURES_EVERY_MS = 30_000;
const HOURS = 24;

/** What one can ask: chat models, then assistants. */
export function useModels() {
  return useQuery({
    queryKey: ["models", "chat"],
    queryFn: ({ signal }) => loadModels("chat", signal),
    staleTime: FRESH_MS,
  });
}

/** The models that make vectors of texts. */
export function useEmbeddingModels() {
  return useQuery({
    queryKey: ["models", "embedding"],
    queryFn: ({ signal }) => loadModels("embedding", signal),
    staleTime: FRESH_MS,
  });
}

/** How the models answered in the last 24 hours, over all keys. */
export function useModelFigures() {
  return useQuery({
    queryKey: ["models", "figures"],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/models/figures", { params: { query: { hours: HOURS } }, signal })),
    refetchInterval: FIGURES_EVERY_MS,
  });
}

async function loadModels(type: "chat" | "embedding", signal: AbortSignal): Promise<Model[]> {
  const query = { limit: PAGE, type };
  const { data } = await unwrap(api.GET("/api/v1/models", { params: { query }, signal }));
  return data.map((card) => toModel(card, type));
}

function toModel(card: ModelCard, type: "chat" | "embedding"): Model {
  const { id, display_name: name, ext, max_input_tokens: context, capabilities } = card;
  const size = context === null ? "" : ` · ${context.toLocaleString("en")} tokens`;
  const { assistant_id: assistantId, description = null, backend } = ext;
  const abilities = Object.entries(ABILITIES)
    .filter(([ability]) => capabilities[ability]?.supported === true)
    .map(([, word]) => word);
  return {
    ...{ id, name, assistantId, description, backend, context, abilities },
    hint: assistantId === undefined ? `${backend}${size}` : (description ?? "Assistant"),
    kind: assistantId === undefined ? type : "assistant",
    leaves: CLOUDS[backend ?? ""],
    output: card.max_tokens,
  };
}
