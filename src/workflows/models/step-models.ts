import type { ChatEvents } from "../../core/chat-event.ts";
import type { ChatRequest } from "../../core/chat-request.ts";
import type { EmbeddingRequest } from "../../core/embedding.ts";
import type { EmbeddingReply } from "../../gateway/embed.ts";
import type { ClaimedRun, StepFailure } from "../runs/run.ts";

/** Who pays for a step's calls, and until when they run. */
export interface StepCall {
  /** The run: its id stands in the usage rows, its `keyId` is the key that the call is made with. */
  readonly run: Pick<ClaimedRun, "id" | "keyId" | "ownerId">;
  readonly signal: AbortSignal;
}

/**
 * Calls of models by steps: the gateway's own pipeline in process, with the limits and rights of the workflow's key.
 * They wait while interactive calls need the engine.
 */
export interface StepModels {
  /** Rejects with a `StepFailure`, retryable where a repetition may help, or with the signal's reason. */
  readonly chat: (
    call: StepCall,
    request: ChatRequest,
  ) => Promise<{ readonly events: ChatEvents; readonly model: () => string }>;
  readonly embed: (call: StepCall, request: EmbeddingRequest) => Promise<EmbeddingReply>;
  /** Describes what is wrong with a key or model that a workflow names, or returns undefined. */
  readonly fault: (name: {
    readonly keyId: string | null;
    readonly model: string;
    readonly kind: "chat" | "embeddings";
  }) => Promise<StepFailure | undefined>;
}
