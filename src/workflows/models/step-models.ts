import type { ChatAnswer } from "../../core/chat/chat-answer.ts";
import type { ChatRequest } from "../../core/chat/chat-request.ts";
import type { EmbeddingRequest } from "../../core/embedding.ts";
import type { EmbeddingReply } from "../../gateway/embed.ts";
import type { Assistant } from "../../knowledge/assistants/assistant.ts";
import type { ClaimedRun, StepFailure } from "../runs/run.ts";
import type { StepUsage } from "../steps/step-kind.ts";

/** Who pays for a step's calls, and until when they run. The context of a step is one. */
export interface StepCall {
  /** The run: its id stands in the usage rows, its `keyId` is the key that the call is made with. */
  readonly run: Pick<ClaimedRun, "id" | "keyId">;
  readonly signal: AbortSignal;
  /** Counts each usage row that the call writes, also those of failed tries. */
  readonly addUsage?: (usage: Partial<StepUsage>) => void;
}

export interface StepAnswer {
  readonly answer: ChatAnswer;
  /** The id of the answering model, or the name of the assistant, as listed. */
  readonly model: string;
}

interface SearchCall {
  readonly signal: AbortSignal;
  /** Called with the tokens of each text that was embedded. */
  readonly onEmbedded: (tokens: number) => void;
}

/** A search that is metered as a call for embeddings of its query. */
export interface StepSearch<Result> {
  /** The model that embeds the query. */
  readonly model: string;
  readonly query: string;
  readonly search: (made: SearchCall) => Promise<Result>;
}

export interface ModelName {
  readonly keyId: string | null;
  /** Undefined: the default model, or the assistant that the key is bound to. */
  readonly model: string | undefined;
  readonly kind: "chat" | "assistant" | "embeddings";
}

/**
 * Calls of models by steps: the gateway's own pipeline in process, with the limits and rights of the workflow's key.
 * They yield to calls of clients, and wait for short limits of the key. They reject with a `StepFailure`, retryable
 * where a repetition may help, or with the signal's reason.
 */
export interface StepModels {
  readonly chat: (call: StepCall, request: ChatRequest) => Promise<StepAnswer>;
  readonly embed: (call: StepCall, request: EmbeddingRequest) => Promise<EmbeddingReply>;
  readonly search: <Result>(call: StepCall, search: StepSearch<Result>) => Promise<Result>;
  /** Describes what is wrong with a key or model that a workflow names, or returns undefined. */
  readonly fault: (name: ModelName) => Promise<StepFailure | undefined>;
  /** Returns an assistant that the key may call. Rejects with a `StepFailure`. */
  readonly assistant: (keyId: string | null, name: string) => Promise<Assistant>;
}
