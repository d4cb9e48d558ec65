import type { ToolCall } from "../content/choose-tool-calls.ts";
import type { Json } from "../json.ts";
import type { Usage } from "../ledger.ts";

/** The differences between the vendors' chat completions, as data. */
export interface ChatStyle {
  /** Fields of every chunk before and after its choices. */
  readonly head: Json;
  readonly tail: Json;
  /** Additional fields of the first chunk. */
  readonly openingTail: Json;
  /** Fields of an unfinished choice, in addition to index and delta. */
  readonly choice: Json;
  /**
   * The first delta of an answer that starts with text, and of one that starts with a tool call; null means no separate
   * chunk.
   */
  readonly opening: Json;
  readonly openingWithCall: Json | null;
  readonly textDelta: (text: string) => Json;
  /** Undefined when reasoning is not shown. */
  readonly reasoningDelta: ((text: string) => Json) | undefined;
  /**
   * pieces: an opening delta, then the arguments in deltas. whole: one chunk per call. with-finish: all calls in the
   * last chunk.
   */
  readonly toolCalls: "pieces" | "whole" | "with-finish";
  readonly callOf: (call: ToolCall, index: number) => Json;
  readonly finishDelta: Json;
  /**
   * asked: in a separate chunk, if the request wants it. finish: in the last chunk of the answer. always: in a separate
   * chunk.
   */
  readonly usage: "asked" | "finish" | "always";
  readonly usageChoices: readonly Json[];
  readonly renderUsage: (usage: Usage) => Json;
  /** Additional fields of the chunk with the finish reason, outside its choices. */
  readonly finishTail: (usage: Usage | null) => Json;
  /** A comment sent before the first event and before every n-th one. */
  readonly comment: { readonly text: string; readonly every: number } | undefined;
  /** Renders the message of a non-streaming answer. */
  readonly message: (said: Said) => Json;
  /** Fields of a non-streaming choice, in addition to index, message and finish reason. */
  readonly wholeChoice: Json;
  readonly wholeTail: (usage: Usage | null) => Json;
  /** Renders an error in the stream, including the end of the stream. */
  readonly frameError: (body: unknown) => string;
}

/** The parts of a non-streaming answer. */
export interface Said {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string | undefined;
  readonly calls: readonly Json[];
}
