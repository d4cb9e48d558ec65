import type { Call } from "../call.ts";
import type { Answer } from "../content/answer.ts";
import { seal } from "../seals.ts";
import type { Thinking } from "./check-thinking.ts";

/** One block of an answer, with the pieces in which it is streamed. */
export type MessageBlock =
  | { readonly type: "thinking"; readonly pieces: readonly string[]; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | { readonly type: "text"; readonly pieces: readonly string[]; readonly repeat: number }
  | {
      readonly type: "tool_use";
      readonly id: string;
      readonly name: string;
      readonly text: string;
    };

/** Returns the blocks of an answer in order: reasoning, text, calls. */
export function messageBlocks(
  { script }: Call,
  answer: Answer,
  { isOmitted }: Thinking,
): MessageBlock[] {
  if (script?.blocked === "prompt") return [];
  const blocks: MessageBlock[] = [];
  const thought = answer.reasoning.join("");
  if (script?.redactedReasoning) {
    blocks.push({ type: "redacted_thinking", data: seal("redacted", thought) });
  } else if (thought !== "") {
    const pieces = isOmitted ? [] : answer.reasoning;
    blocks.push({ type: "thinking", pieces, signature: seal("thinking", thought) });
  }
  if (answer.text.length > 0) {
    blocks.push({ type: "text", pieces: answer.text, repeat: answer.repeat });
  }
  for (const { id, name, arguments: text } of answer.toolCalls) {
    blocks.push({ type: "tool_use", id, name, text });
  }
  return blocks;
}
