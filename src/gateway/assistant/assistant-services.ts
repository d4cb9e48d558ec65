import type { Settings } from "../../config/settings.ts";
import type { Caller, CurrentCaller } from "../../core/callers/caller.ts";
import type { KnownAssistants } from "../../knowledge/assistants/assistant.ts";
import type { Search } from "../../knowledge/retrieve/passage.ts";
import type { Log } from "../../lib/log.ts";
import type { AuditCall } from "../../tools/audit-calls.ts";
import type { ToolRegistry } from "../../tools/registry.ts";
import type { ToolLimits } from "../../tools/run-tool.ts";
import type { ToolFigures } from "../../tools/tool-figures.ts";

/** The parts of other areas that answering as an assistant needs. */
export interface AssistantServices {
  readonly known: KnownAssistants;
  readonly currentCaller: CurrentCaller;
  readonly search: Search;
  /** Rejects with `not_found` for the first vector store that does not exist for the caller. */
  readonly checkStores: (caller: Caller, vectorStoreIds: readonly string[]) => Promise<void>;
  readonly tools: ToolRegistry;
  readonly countToolCall: ToolFigures["countCall"];
  /** Records a call above `read_only` before it runs; absent where no audit log is kept. */
  readonly auditToolCall?: AuditCall | undefined;
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

/** Returns the limits of the tools that a request runs, whichever way it comes in by. */
export function toolLimitsOf(
  { settings, log, countToolCall, auditToolCall }: AssistantServices,
  requestId: string,
): ToolLimits {
  return {
    timeoutMs: settings.TOOL_TIMEOUT_MS,
    maxResultBytes: settings.TOOL_RESULT_MAX_BYTES,
    onFailure: (tool, error) =>
      log.error(
        { error, tool, requestId },
        "a tool failed; the model gets an error result without the cause",
      ),
    onEnd: countToolCall,
    audit: auditToolCall,
  };
}
