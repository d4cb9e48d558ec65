import type { ChatDocument, ChatMessage } from "./chat-document.ts";

/**
 * Returns one chat with the messages of two that have come from the same one: those of `other` stay where they are, and
 * what only `own` has becomes branches beside them. The branch in view, the model and the parameters are those of `own`.
 */
export function mergeDocuments(other: ChatDocument, own: ChatDocument): ChatDocument {
  const messages: Record<string, ChatMessage> = { ...other.messages };
  const places = new Map<string, string>();
  let next = Math.max(0, ...Object.keys(messages).map(numberOf)) + 1;
  // By number, so that a message comes after the one above it.
  const ids = Object.keys(own.messages).sort((left, right) => numberOf(left) - numberOf(right));
  for (const id of ids) {
    const message = own.messages[id];
    if (message === undefined) continue;
    const parent = message.parent === null ? null : (places.get(message.parent) ?? null);
    const known = other.messages[id];
    if (known !== undefined && isSame(known, { ...message, parent })) {
      places.set(id, id);
      // An answer may have gone on in one of the tabs.
      if (known.state !== "done" && message.state === "done") messages[id] = message;
      continue;
    }
    const place = `m${next}`;
    next += 1;
    places.set(id, place);
    messages[place] = { ...message, parent };
  }
  const leaf = own.leaf === null ? null : (places.get(own.leaf) ?? other.leaf);
  return { ...own, leaf, messages };
}

function isSame(left: ChatMessage, right: ChatMessage): boolean {
  return left.at === right.at && left.role === right.role && left.parent === right.parent;
}

function numberOf(id: string): number {
  return Number(/^m(\d+)$/.exec(id)?.[1] ?? 0);
}
