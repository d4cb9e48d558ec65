import type { Usage } from "../ledger.ts";
import type { ToolCall } from "./choose-tool-calls.ts";

/** What will be said, already cut into the pieces it is said in. */
export interface Answer {
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  /** The text is said so many times over. */
  readonly repeat: number;
  readonly toolCalls: readonly ToolCall[];
  /** In OpenAI's words: stop, length, tool_calls. */
  readonly finishReason: string;
  /** The stop string that ended the text. */
  readonly stopReason: string | null;
  /** null: the engine tells none. */
  readonly usage: Usage | null;
}
