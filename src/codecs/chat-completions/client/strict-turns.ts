import type { AssistantMessage, ChatMessage } from "../../../core/chat-request.ts";

/** What the model is taken to have said where only its own words may stand. */
const BRIDGE: AssistantMessage = { role: "assistant", content: [{ type: "text", text: "OK." }] };

/**
 * The messages in turns as a strict server wants them: the model answers the results of its tools before anybody else
 * speaks, a system message comes after no answer, and no answer is empty.
 */
export function keepStrictTurns(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const kept: ChatMessage[] = [];
  for (const message of messages) {
    if (message.role === "assistant" && saysNothing(message)) continue;
    const before = kept.at(-1)?.role;
    const isSpoken = message.role === "user" || message.role === "system";
    if (isSpoken && before === "tool") kept.push(BRIDGE);
    const comesLate = before === "tool" || before === "assistant";
    if (message.role === "system" && comesLate) kept.push({ ...message, role: "user" });
    else kept.push(message);
  }
  return kept;
}

function saysNothing({ content }: AssistantMessage): boolean {
  return content.every(
    (part) => part.type === "reasoning" || (part.type !== "tool-call" && part.text === ""),
  );
}
