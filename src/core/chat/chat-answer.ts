import type { JsonObject } from "../../lib/json/json.ts";
import type { FinishReason, RefusalDetails, SearchEvent, ToolRun } from "./chat-event.ts";
import type { Usage } from "./usage.ts";

/** A complete answer: the sum of a stream of events. */
export interface ChatAnswer {
  readonly blocks: readonly AnswerBlock[];
  readonly sources: readonly JsonObject[];
  /** The runs of the gateway's own tools that have ended, in the order of their ends. */
  readonly toolRuns: readonly ToolRun[];
  /** The client's own search; undefined when it asked for none. */
  readonly search?: SearchEvent | undefined;
  readonly finish: {
    readonly reason: FinishReason;
    readonly stopSequence?: string | undefined;
    readonly refusal?: RefusalDetails | undefined;
    readonly usage?: Usage | undefined;
    readonly extra?: JsonObject | undefined;
  };
  readonly extra?: JsonObject | undefined;
}

export type AnswerBlock = AnswerTextBlock | AnswerToolCall;

export interface AnswerTextBlock {
  readonly kind: "text" | "reasoning" | "refusal";
  readonly text: string;
  readonly signature?: string | undefined;
  readonly redacted?: string | undefined;
  /** The extras of the deltas, in order; one entry per delta that had any. */
  readonly extras: readonly JsonObject[];
}

export interface AnswerToolCall {
  readonly kind: "tool-call";
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly signature?: string | undefined;
}
