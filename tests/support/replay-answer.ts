import type { AnswerBlock } from "../../src/core/chat/chat-answer.ts";
import type { ChatEvent } from "../../src/core/chat/chat-event.ts";
import type { AssistantMessage, AssistantPart } from "../../src/core/chat/chat-request.ts";
import { foldEvents } from "../../src/core/chat/fold-events.ts";

/** The message in which a client that keeps everything gives an answer back with its next request. */
export async function replayAnswer(events: readonly ChatEvent[]): Promise<AssistantMessage> {
  const { blocks } = await foldEvents(inOneBatch(events));
  return { role: "assistant", content: blocks.map(toPart) };
}

async function* inOneBatch(events: readonly ChatEvent[]) {
  yield events;
}

function toPart(block: AnswerBlock): AssistantPart {
  if (block.kind === "tool-call") {
    const { callId, name, arguments: text, signature } = block;
    return { type: "tool-call", callId, name, arguments: text, signature };
  }
  const { kind: type, text, signature, redacted } = block;
  return type === "reasoning" ? { type, text, signature, redacted } : { type, text };
}
