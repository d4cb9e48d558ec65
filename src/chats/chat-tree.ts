import { type Path, shownName } from "../lib/json/value-faults.ts";

/** What the rules of a chat's tree look at; its fields were checked before. */
export interface ChatTree {
  /** The last message of the branch in view; null in an empty chat. */
  readonly leaf: string | null;
  readonly messages: Readonly<Record<string, ChatMessage>>;
}

export interface ChatMessage {
  readonly parent: string | null;
  readonly role: "user" | "assistant";
  readonly parts: readonly { readonly type: string; readonly [field: string]: unknown }[];
}

/** Where a document is no tree, and what was expected there. */
export interface TreeFault {
  readonly path: Path;
  readonly expected: string;
}

/** The most messages of a document. */
export const MESSAGES_MAX = 10_000;
/** Ids are counted within the document. */
const MESSAGE_ID = /^m[1-9]\d{0,5}$/;

/** Finds the first fault of a document's tree. Takes time in proportion to its messages. */
export function findTreeFault({ leaf, messages }: ChatTree): TreeFault | undefined {
  const ids = Object.keys(messages);
  for (const id of ids) {
    if (!MESSAGE_ID.test(id)) {
      return { path: ["messages", shownName(id)], expected: "an id of m1 to m999999" };
    }
    const { parent } = messages[id] as ChatMessage;
    if (parent !== null && !Object.hasOwn(messages, parent)) {
      return { path: ["messages", id, "parent"], expected: "the id of a message, or null" };
    }
  }
  if (leaf === null ? ids.length > 0 : !Object.hasOwn(messages, leaf)) {
    return { path: ["leaf"], expected: "the id of a message; null without messages" };
  }
  return findCircle(messages, ids);
}

function findCircle(messages: ChatTree["messages"], ids: readonly string[]): TreeFault | undefined {
  /** The walk in which each message was met. */
  const metBy = new Map<string, number>();
  for (const [walk, start] of ids.entries()) {
    for (let id: string | null = start; id !== null; id = messages[id]?.parent ?? null) {
      const met = metBy.get(id);
      if (met === walk) {
        return { path: ["messages", id, "parent"], expected: "a message that does not follow it" };
      }
      if (met !== undefined) break;
      metBy.set(id, walk);
    }
  }
  return undefined;
}

/**
 * Returns the words that name a chat: those of the first question that has some, else the first name of something that
 * was attached to one. Empty where there are none.
 */
export function wordsOfTitle({ messages }: ChatTree): string {
  const questions = Object.entries(messages)
    .filter(([, { role }]) => role === "user")
    .sort(([one], [other]) => Number(one.slice(1)) - Number(other.slice(1)))
    .map(([, { parts }]) => parts);
  // Nobody typed the text of a file.
  const said = questions.map((parts) => parts.filter(({ type }) => type === "text"));
  const words = said.map((parts) => textsOf(parts, "text").join(" "));
  const names = questions.flatMap((parts) => textsOf(parts, "name"));
  return [...words, ...names].find((text) => text.trim() !== "") ?? "";
}

function textsOf(parts: ChatMessage["parts"], field: string): readonly string[] {
  return parts.map((part) => part[field]).filter((text) => typeof text === "string");
}
