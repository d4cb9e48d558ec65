import type { ChatMessage, ChatRequest } from "../core/chat-request.ts";

/** So many characters in a row that stand in both are taken for a quote. */
const QUOTE_CHARACTERS = 16;
/** A longer prompt is not searched: what is said of it may quote it. */
const MAX_SEARCHED_CHARACTERS = 1_000_000;

/** True when a text may repeat what a request says. A few words in common are none. */
export function quotesRequest(text: string, { messages }: ChatRequest): boolean {
  const pieces = new Set<string>();
  for (let at = 0; at + QUOTE_CHARACTERS <= text.length; at++) {
    pieces.add(text.slice(at, at + QUOTE_CHARACTERS));
  }
  const said = messages.flatMap(textsOf);
  const length = said.reduce((sum, one) => sum + one.length, 0);
  return length > MAX_SEARCHED_CHARACTERS || said.some((one) => holdsAny(one, pieces));
}

function holdsAny(text: string, pieces: ReadonlySet<string>): boolean {
  for (let at = 0; at + QUOTE_CHARACTERS <= text.length; at++) {
    if (pieces.has(text.slice(at, at + QUOTE_CHARACTERS))) return true;
  }
  return false;
}

function textsOf({ content }: ChatMessage): readonly string[] {
  return content.flatMap((part) => {
    if (part.type === "tool-call") return [part.arguments];
    return "text" in part ? [part.text] : [];
  });
}
