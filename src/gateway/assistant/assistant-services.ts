import type { Settings } from "../../config/settings.ts";
import type { Caller } from "../../core/caller.ts";
import type { KnownAssistants } from "../../knowledge/assistants/assistant.ts";
import type { Search } from "../../knowledge/retrieve/passage.ts";
import type { Log } from "../../lib/log.ts";
import type { ToolRegistry } from "../../tools/registry.ts";
import type { ToolFigures } from "../../tools/tool-figures.ts";

/** The parts of other areas that answering as an assistant needs. */
export interface AssistantServices {
  readonly known: KnownAssistants;
  readonly search: Search;
  /** Rejects with `not_found` for the first vector store that does not exist for the caller. */
  readonly checkStores: (caller: Caller, vectorStoreIds: readonly string[]) => Promise<void>;
  readonly tools: ToolRegistry;
  readonly countToolCall: ToolFigures["countCall"];
  readonly settings: Pick<
    Settings,
    | "ASSISTANT_MAX_TURNS"
    | "ASSISTANT_MAX_TOOL_CALLS"
    | "TOOL_TIMEOUT_MS"
    | "TOOL_RESULT_MAX_BYTES"
    | "RAG_TOP_K"
    | "RAG_MIN_SIMILARITY"
    | "RAG_GROUNDING_MODE"
  >;
  readonly log: Log;
}
