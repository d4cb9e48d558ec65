/**
 * A chat as it is stored: a tree of messages, of which the branch from `leaf` to the root is shown and sent. An edit or a
 * retry adds a sibling, so nothing that was said is overwritten. Every function returns a new document.
 */
export interface ChatDocument {
  readonly version: 1;
  /** The id of a model or assistant. */
  readonly model: string;
  readonly system: string;
  readonly parameters: ChatParameters;
  /** The last message of the branch in view; null in an empty chat. */
  readonly leaf: string | null;
  readonly messages: Readonly<Record<string, ChatMessage>>;
}

/** What is sent beside the messages; absent means the model's default. */
export interface ChatParameters {
  readonly effort?: string;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
}

export interface ChatMessage {
  readonly parent: string | null;
  readonly role: "user" | "assistant";
  readonly parts: readonly MessagePart[];
  /** Of an answer: the model that wrote it. */
  readonly model?: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly state: "done" | "stopped" | "failed";
  readonly usage?: MessageUsage;
  readonly request_id?: string;
  /** Of a failed answer: what happened, for its card. */
  readonly error?: MessageError;
}

export interface MessageUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Milliseconds from sending to the first text. */
  readonly first_ms?: number;
  /** Milliseconds from sending to the end. */
  readonly total_ms?: number;
}

export interface MessageError {
  readonly code: string;
  readonly message: string;
  /** When it can be tried again; Unix milliseconds. */
  readonly retry_at?: number;
}

export type MessagePart =
  | { readonly type: "text"; readonly text: string }
  /** A `data:` URL. */
  | { readonly type: "image"; readonly data: string; readonly name?: string }
  | { readonly type: "file"; readonly name: string; readonly text: string }
  | { readonly type: "thinking"; readonly text: string; readonly ms?: number }
  | ToolRunPart
  | { readonly type: "sources"; readonly sources: readonly Source[] };

export interface ToolRunPart {
  readonly type: "tool_run";
  readonly id: string;
  readonly name: string;
  readonly status: "running" | "ok" | "error";
  readonly duration_ms?: number;
  /** JSON as the model wrote it. */
  readonly arguments?: string;
  readonly result?: string;
}

export interface Source {
  /** The number that the answer cites it by. */
  readonly index: number;
  readonly file_id: string;
  readonly vector_store_id: string;
  readonly filename: string;
  readonly page?: number;
  readonly sheet?: string;
  readonly heading?: string;
  readonly text: string;
  readonly score: number;
  readonly cited: boolean;
}

/** A message with what a page needs to show it in its branch. */
export interface BranchMessage extends ChatMessage {
  readonly id: string;
  /** The messages that stand in the same place, by age, itself among them. */
  readonly siblings: readonly string[];
}

export function emptyDocument(model: string): ChatDocument {
  return { version: 1, model, system: "", parameters: {}, leaf: null, messages: {} };
}

/** Returns the messages from the first to `leaf`. */
export function branchOf(document: ChatDocument): BranchMessage[] {
  const siblings = childrenOf(document);
  const branch: BranchMessage[] = [];
  for (let id = document.leaf; id !== null; ) {
    const message: ChatMessage | undefined = document.messages[id];
    // A document of somebody else's making may go in circles.
    if (message === undefined || branch.length > Object.keys(document.messages).length) break;
    branch.push({ ...message, id, siblings: siblings.get(message.parent) ?? [id] });
    id = message.parent;
  }
  return branch.reverse();
}

/** Whether two messages of a branch show the same. What did not change is the same object in every later document. */
export function isSameMessage(left: BranchMessage, right: BranchMessage): boolean {
  const { siblings, ...rest } = left;
  const names = Object.keys({ ...rest, ...right }) as (keyof BranchMessage)[];
  return (
    siblings.length === right.siblings.length &&
    siblings.every((id, index) => id === right.siblings[index]) &&
    names.every((name) => name === "siblings" || left[name] === right[name])
  );
}

/** Adds a message behind `leaf` and makes it the new leaf. */
export function append(
  document: ChatDocument,
  message: Omit<ChatMessage, "parent">,
): { readonly document: ChatDocument; readonly id: string } {
  return addBelow(document, document.leaf, message);
}

/** Adds a message in the place of another, beside it: an edit of a question, or another answer. */
export function addBeside(
  document: ChatDocument,
  id: string,
  message: Omit<ChatMessage, "parent">,
): { readonly document: ChatDocument; readonly id: string } {
  return addBelow(document, messageOf(document, id).parent, message);
}

/** Replaces what is known of one message while its answer comes in. */
export function update(
  document: ChatDocument,
  id: string,
  change: Partial<Omit<ChatMessage, "parent" | "role">>,
): ChatDocument {
  const message = { ...messageOf(document, id), ...change };
  return { ...document, messages: { ...document.messages, [id]: message } };
}

/** Shows the branch through a message: down to the newest of its descendants. */
export function showBranchThrough(document: ChatDocument, id: string): ChatDocument {
  const children = childrenOf(document);
  let leaf = messageOf(document, id) && id;
  for (let next = children.get(leaf)?.at(-1); next !== undefined; ) {
    leaf = next;
    next = children.get(leaf)?.at(-1);
  }
  return { ...document, leaf };
}

/** Returns the text that a reader sees of a message, without thinking. */
export function textOf(message: Pick<ChatMessage, "parts">): string {
  return message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

function addBelow(
  document: ChatDocument,
  parent: string | null,
  message: Omit<ChatMessage, "parent">,
) {
  const id = nextId(document);
  const messages = { ...document.messages, [id]: { ...message, parent } };
  return { document: { ...document, leaf: id, messages }, id };
}

/** Ids are counted within the document, because a page without TLS cannot make random ones. */
function nextId({ messages }: ChatDocument): string {
  const numbers = Object.keys(messages).map((id) => Number(/^m(\d+)$/.exec(id)?.[1] ?? 0));
  return `m${Math.max(0, ...numbers) + 1}`;
}

function childrenOf({ messages }: ChatDocument): ReadonlyMap<string | null, readonly string[]> {
  const children = new Map<string | null, string[]>();
  for (const [id, { parent }] of Object.entries(messages)) {
    const known = children.get(parent);
    if (known === undefined) children.set(parent, [id]);
    else known.push(id);
  }
  return children;
}

function messageOf(document: ChatDocument, id: string): ChatMessage {
  const message = document.messages[id];
  if (message === undefined) throw new Error(`The chat has no message ${id}.`);
  return message;
}
