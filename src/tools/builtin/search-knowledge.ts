import type { Settings } from "../../config/settings.ts";
import type { Passage, Search } from "../../knowledge/retrieve/passage.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Tool } from "../tool.ts";

export interface SearchParts {
  readonly search: Search;
  readonly settings: Pick<Settings, "RAG_TOP_K" | "RAG_MIN_SIMILARITY">;
}

export const SEARCH_KNOWLEDGE = "search_knowledge";

const MAX_PASSAGES = 20;
const MAX_QUERY_CHARACTERS = 2_000;

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    query: {
      type: "string",
      minLength: 1,
      maxLength: MAX_QUERY_CHARACTERS,
      description: "What to look for, as a question or as key words.",
    },
    limit: {
      type: "integer",
      minimum: 1,
      maximum: MAX_PASSAGES,
      description: "How many passages to return at most.",
    },
  },
  required: ["query"],
  additionalProperties: false,
};

/** Creates the tool that searches the vector stores of the assistant. */
export function createSearchKnowledge({ search, settings }: SearchParts): Tool {
  return {
    name: SEARCH_KNOWLEDGE,
    description:
      "Searches the documents of this assistant and returns the passages that suit the query, the best first. " +
      "Use it when the passages at hand do not answer the question, with a query of your own.",
    level: "read_only",
    parameters: PARAMETERS,
    isAvailable: ({ vectorStoreIds }) => vectorStoreIds.length > 0,
    async run({ query, limit }, { assistant, signal }) {
      const passages = await search({
        vectorStoreIds: assistant.vectorStoreIds,
        readerId: assistant.ownerId,
        text: String(query),
        limit: typeof limit === "number" ? limit : (assistant.topK ?? settings.RAG_TOP_K),
        minSimilarity: assistant.minSimilarity ?? settings.RAG_MIN_SIMILARITY,
        signal,
      });
      if (passages.length === 0) return { text: "No passage suits this query.", passages };
      return { text: passages.map(listed).join("\n\n"), passages };
    },
  };
}

function listed({ filename, text }: Passage, index: number): string {
  return `[${index + 1}] ${filename}\n${text}`;
}
