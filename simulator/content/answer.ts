import type { Usage } from "../ledger.ts";
import type { ToolCall } from "./choose-tool-calls.ts";

/** The content of an answer, already split into its deltas. */
export interface Answer {
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  /** The text is repeated this many times. */
  readonly repeat: number;
  readonly toolCalls: readonly ToolCall[];
  /** The finish reason in OpenAI's words: stop, length, tool_calls. */
  readonly finishReason: string;
  /** The stop string that ended the text. */
  readonly stopReason: string | null;
  /** Null when the engine reports none. */
  readonly usage: Usage | null;
}
