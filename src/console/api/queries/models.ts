import { useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

type ModelCard = components["schemas"]["Model"];

/** A model or assistant as pages need it. */
export interface Model {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  /** Where its words go, for one that is not answered by a local engine. */
  readonly leaves: string | undefined;
  readonly isForChat: boolean;
  readonly isForHearing: boolean;
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

/** What one can ask, assistants among them: chat models, and those that hear. */
export function useModels() {
  return useQuery({
    queryKey: ["models"],
    queryFn: async ({ signal }) => {
      const of = (type: "chat" | "transcription") =>
        unwrap(api.GET("/api/v1/models", { params: { query: { type, limit: PAGE } }, signal }));
      const [chat, hearing] = await Promise.all([of("chat"), of("transcription")]);
      const ears = hearing.data.map((card) => toModel(card, "hearing"));
      return [...chat.data.map((card) => toModel(card, "chat")), ...ears];
    },
    staleTime: 30_000,
  });
}

function toModel(card: ModelCard, use: "chat" | "hearing"): Model {
  const { id, display_name: name, ext, owned_by: owner, max_input_tokens: context } = card;
  const isAssistant = ext?.assistant_id !== undefined;
  const size = context === null ? "" : ` · ${context.toLocaleString("en")} tokens`;
  return {
    ...{ id, name, isAssistant, context },
    hint: isAssistant ? (ext?.description ?? "Assistant") : `${owner}${size}`,
    leaves: CLOUDS[owner],
    isForChat: use === "chat",
    isForHearing: use === "hearing",
  };
}
