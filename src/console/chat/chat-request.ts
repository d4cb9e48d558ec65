import {
  type BranchMessage,
  branchOf,
  type ChatDocument,
  type MessagePart,
} from "./chat-document.ts";

/** Messages that a turn sends at most; the system prompt is not counted. */
export const MAX_SENT = 50;

type SentPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } };
type SentContent = string | readonly SentPart[];

export interface SentMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: SentContent;
}

/** The body of `POST /api/v1/chat/completions`. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly SentMessage[];
  readonly stream: true;
  readonly stream_options: { readonly include_usage: true };
  readonly reasoning_effort?: string;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
}

/**
 * Returns the messages of the branch that a turn sends: the newest ones. What lies before is still shown, above a line.
 * Tool runs are parts of the answer they belong to, so call and result are never divided.
 */
export function sentPart(branch: readonly BranchMessage[]): readonly BranchMessage[] {
  // An answer that failed before it said anything is no message.
  const told = branch.filter(({ role, parts }) => role === "user" || hasContent(parts));
  return told.slice(-MAX_SENT);
}

/**
 * Returns a request without the answers that stand before its first question, for models that refuse these; undefined
 * where there are none.
 */
export function fromQuestion(request: ChatRequest): ChatRequest | undefined {
  const first = request.messages.findIndex(({ role }) => role === "user");
  const messages = request.messages.filter(
    ({ role }, index) => role === "system" || index >= first,
  );
  return messages.length === request.messages.length ? undefined : { ...request, messages };
}

/** Returns what a turn sends to answer the branch up to its leaf, a question. */
export function toRequest(document: ChatDocument): ChatRequest {
  const { model, system, parameters } = document;
  const { effort, ...rest } = parameters;
  const messages: SentMessage[] = sentPart(branchOf(document)).map(({ role, parts }) => ({
    role,
    content: contentOf(parts),
  }));
  return {
    model,
    messages: system.trim() === "" ? messages : [{ role: "system", content: system }, ...messages],
    stream: true,
    stream_options: { include_usage: true },
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...rest,
  };
}

/** Thinking, runs and sources are for the reader: a model gets what was said. */
function contentOf(parts: readonly MessagePart[]): SentContent {
  const sent = parts.flatMap((part): readonly SentPart[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type === "file") return [{ type: "text", text: fileText(part) }];
    if (part.type === "image") {
      return [{ type: "image_url", image_url: { url: part.data } }];
    }
    return [];
  });
  if (sent.some(({ type }) => type === "image_url")) return sent;
  return sent.map((part) => (part.type === "text" ? part.text : "")).join("\n\n");
}

/** A longer fence than any in the text keeps the file apart from the words around it. */
function fileText({ name, text }: { readonly name: string; readonly text: string }): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `File ${JSON.stringify(name)}:\n${fence}\n${text}\n${fence}`;
}

function hasContent(parts: readonly MessagePart[]): boolean {
  return parts.some(
    (part) =>
      part.type === "image" || part.type === "file" || (part.type === "text" && part.text !== ""),
  );
}
