import type { ChatMessage, TextPart } from "../../core/chat/chat-request.ts";

type SystemMessage = Extract<ChatMessage, { readonly role: "system" }>;

/**
 * Joins the system messages before any other message into one. Many chat templates of models refuse further ones, and
 * others leave them out in silence: agents send several, and so does an assistant with instructions of its own.
 */
export function joinOpening(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const opening = openingOf(messages);
  if (opening.length < 2) return messages;
  const texts = opening.map(({ content }) => content.map(({ text }) => text).join("\n"));
  const joined = texts.filter((text) => text !== "").join("\n\n");
  const first: SystemMessage = { role: "system", content: [{ type: "text", text: joined }] };
  return [first, ...messages.slice(opening.length)];
}

/** Makes user text of every system message but the opening, for templates that refuse it there. */
export function tellLaterSystem(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const opening = openingOf(messages).length;
  return messages.flatMap((message, index): readonly ChatMessage[] => {
    if (message.role !== "system" || index < opening) return [message];
    const content = tellSystem(message.content);
    return content.length === 0 ? [] : [{ role: "user", content }];
  });
}

/** Renders a system message as user text. Empty where it says nothing. */
export function tellSystem(content: readonly TextPart[]): readonly TextPart[] {
  const said = content.filter(({ text }) => text.trim() !== "");
  if (said.length === 0) return [];
  const text = `<system>\n${said.map((part) => part.text).join("\n")}\n</system>`;
  const cacheControl = said.findLast((part) => part.cacheControl !== undefined)?.cacheControl;
  return [{ type: "text", text, cacheControl }];
}

function openingOf(messages: readonly ChatMessage[]): readonly SystemMessage[] {
  const opening: SystemMessage[] = [];
  for (const message of messages) {
    if (message.role !== "system") break;
    opening.push(message);
  }
  return opening;
}
