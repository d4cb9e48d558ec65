import type { ToolCall } from "../content/choose-tool-calls.ts";
import type { Json } from "../json.ts";
import type { Usage } from "../ledger.ts";

/** How one vendor writes chat completions: what differs from vendor to vendor, as data. */
export interface ChatStyle {
  /** Fields of every chunk before and after its choices. */
  readonly head: Json;
  readonly tail: Json;
  /** Fields that the first chunk has besides. */
  readonly openingTail: Json;
  /** Fields of a choice that has not ended, besides index and delta. */
  readonly choice: Json;
  /** The delta that opens an answer, and one that opens it with a tool call; null: no chunk of its own. */
  readonly opening: Json;
  readonly openingWithCall: Json | null;
  readonly textDelta: (text: string) => Json;
  /** undefined: what the model thinks is not shown. */
  readonly reasoningDelta: ((text: string) => Json) | undefined;
  /** pieces: opening, then pieces of arguments. whole: a chunk a call. with-finish: all in the chunk that ends. */
  readonly toolCalls: "pieces" | "whole" | "with-finish";
  readonly callOf: (call: ToolCall, index: number) => Json;
  readonly finishDelta: Json;
  /** asked: a chunk of its own where the request wants it. finish: on the chunk that ends. always: a chunk of its own. */
  readonly usage: "asked" | "finish" | "always";
  readonly usageChoices: readonly Json[];
  readonly renderUsage: (usage: Usage) => Json;
  /** Fields beside the choices of the chunk that ends. */
  readonly finishTail: (usage: Usage | null) => Json;
  /** Put before the first event, and before every n-th. */
  readonly comment: { readonly text: string; readonly every: number } | undefined;
  /** The message of a whole answer. */
  readonly message: (said: Said) => Json;
  /** Fields of a whole answer's choice besides index, message and finish reason. */
  readonly wholeChoice: Json;
  readonly wholeTail: (usage: Usage | null) => Json;
  /** In the stream, up to its end. */
  readonly frameError: (body: unknown) => string;
}

/** A whole answer's parts. */
export interface Said {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string | undefined;
  readonly calls: readonly Json[];
}
