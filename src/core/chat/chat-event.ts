import type { JsonObject } from "../../lib/json/json.ts";
import type { ServiceError } from "../service-error.ts";
import type { Usage } from "./usage.ts";

/**
 * An event of a backend's answer. The order is part of the contract:
 *
 *   start search? (block-start delta* block-end | tool-run)* source* (finish | error)
 *
 * Blocks are numbered from 0 in the order of their start. Text, reasoning and refusal blocks never overlap another
 * block; tool calls may be open in parallel, because vendors interleave parallel calls. Exactly one `finish` or `error`
 * ends a stream and closes what is open. An error may be the first event.
 */
export type ChatEvent =
  | StartEvent
  | BlockStartEvent
  | ToolCallStartEvent
  | DeltaEvent
  | ToolCallDeltaEvent
  | SignatureEvent
  | BlockEndEvent
  | SourceEvent
  | SearchEvent
  | ToolRunEvent
  | FinishEvent
  | ErrorEvent;

export interface StartEvent {
  readonly type: "start";
  /** Tokens of the prompt, including cached ones, as known before the answer; the final count is in `finish`. */
  readonly inputTokens?: number | undefined;
  /** The vendor's own fields of the answer that have no canonical place (`system_fingerprint`, …). */
  readonly extra?: JsonObject | undefined;
}

export interface BlockStartEvent {
  readonly type: "block-start";
  readonly block: number;
  readonly kind: "text" | "reasoning" | "refusal";
}

export interface ToolCallStartEvent {
  readonly type: "tool-call-start";
  readonly block: number;
  /** Unique in the answer; `[A-Za-z0-9_-]{1,64}` when the gateway made it. */
  readonly callId: string;
  readonly name: string;
  /** The vendor's seal over the call, marked as described in `core/chat/seal.ts`, to be replayed with the call. */
  readonly signature?: string | undefined;
}

/** A piece of the open text, reasoning or refusal block. */
export interface DeltaEvent {
  readonly type: "text-delta" | "reasoning-delta" | "refusal-delta";
  readonly block: number;
  readonly text: string;
  /**
   * The pieces in which the text arrived, where they were several: JSON literals as `JSON.stringify` writes them, without
   * their quotes. A format in JSON writes a frame for each, without converting the text. For all others the event is one
   * longer piece.
   */
  readonly literals?: readonly string[] | undefined;
  /** Extras of local engines for exactly these tokens, by their chat-completions names: `logprobs`, `token_ids`. */
  readonly extra?: JsonObject | undefined;
}

/** A piece of a call's arguments: JSON text, in the bytes the vendor sent. */
export interface ToolCallDeltaEvent {
  readonly type: "tool-call-delta";
  readonly block: number;
  readonly arguments: string;
}

/**
 * The vendor's seal over a reasoning block, or the block's encrypted content; both are marked as described in
 * `core/chat/seal.ts`.
 */
export interface SignatureEvent {
  readonly type: "signature";
  readonly block: number;
  readonly signature?: string | undefined;
  readonly redacted?: string | undefined;
}

export interface BlockEndEvent {
  readonly type: "block-end";
  readonly block: number;
  /**
   * The vendor's seal over a text block, marked as described in `core/chat/seal.ts`. No client format has a place for it.
   */
  readonly signature?: string | undefined;
}

/** A knowledge source that the answer used. */
export interface SourceEvent {
  readonly type: "source";
  readonly source: JsonObject;
}

/** The result of the search that the client asked for (`ChatRequest.fileSearch`). */
export interface SearchEvent {
  readonly type: "search";
  readonly queries: readonly string[];
  /** By rank, as the model was given them. */
  readonly found: readonly FoundPassage[];
}

export interface FoundPassage {
  /** The number by which the answer cites it: `[1]`. */
  readonly index: number;
  readonly fileId: string;
  readonly filename: string;
  readonly attributes: JsonObject;
  readonly text: string;
  /** The cosine of question and passage, from 0 to 1. */
  readonly score: number;
}

/**
 * One of the gateway's own tools begins or ends. It may stand between blocks, never inside one. The client sees it as
 * `ext.tool_run`, and never as a tool call of its own.
 */
export interface ToolRunEvent {
  readonly type: "tool-run";
  readonly run: ToolRun;
}

export interface ToolRun {
  /** Unique in the answer. */
  readonly id: string;
  readonly name: string;
  readonly status: "running" | "ok" | "error";
  /** Undefined while it runs. */
  readonly durationMs?: number | undefined;
  /** The arguments in the model's own characters, cut; only for sessions. */
  readonly arguments?: string | undefined;
  /** The beginning of the result; only for sessions, once it has ended. */
  readonly result?: string | undefined;
}

export interface FinishEvent {
  readonly type: "finish";
  readonly reason: FinishReason;
  /** The stop string that was matched, if the vendor reports it. */
  readonly stopSequence?: string | undefined;
  /** Why the answer was refused, if the vendor says so. */
  readonly refusal?: RefusalDetails | undefined;
  /** Undefined when the vendor reported no usage; the meter then estimates it. */
  readonly usage?: Usage | undefined;
  /** The vendor's own fields of the choice that have no canonical place (`stop_reason`, …). */
  readonly extra?: JsonObject | undefined;
}

/** The vendor's own words about a refusal; null where it has none. */
export interface RefusalDetails {
  /** The policy that it falls under (`cyber`). */
  readonly category: string | null;
  /** A sentence for people. */
  readonly explanation: string | null;
}

export interface ErrorEvent {
  readonly type: "error";
  readonly error: ServiceError;
}

export type FinishReason =
  | "stop"
  | "stop-sequence"
  | "length"
  | "context-full"
  | "tool-calls"
  | "content-filter"
  | "paused";

/** Events arrive in batches: one batch is the result of one network read. A batch is never empty. */
export type ChatEvents = AsyncIterable<readonly ChatEvent[]>;
