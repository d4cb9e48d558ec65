import { ApiError } from "../../api/errors.ts";
import type { ChatToKeep, StoredDocument } from "../../api/queries/chats.ts";
import type { ChatDocument } from "../../chat/chat-document.ts";
import { keepingAfter } from "./keeping.ts";

/** The calls by which a chat is kept. */
export interface ChatCalls {
  readonly keep: (chat: ChatToKeep) => Promise<{ readonly revision: number }>;
  readonly find: (id: string) => Promise<{ readonly revision: number; readonly document: unknown }>;
}

const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 22;

/**
 * What is kept of one chat. Its id is made here, and a save whose answer was lost is remembered: sent again, it must
 * neither be kept twice nor count as somebody else's.
 */
export class ChatSaves {
  #id: string;
  /** Undefined until it is kept. */
  #revision: number | undefined;
  /** What was sent without an answer: any of it may be stored. */
  readonly #unanswered = new Set<ChatDocument>();

  constructor(opened: { readonly id: string; readonly revision: number } | undefined) {
    this.#id = opened?.id ?? newId();
    this.#revision = opened?.revision;
  }

  get id(): string {
    return this.#id;
  }

  get isKept(): boolean {
    return this.#revision !== undefined;
  }

  /** Whether it is kept as far as this tab knows, or may be. */
  get mayBeKept(): boolean {
    return this.isKept || this.#unanswered.size > 0;
  }

  /** Goes on from a revision that another tab has saved. */
  takeOver(revision: number): void {
    this.#revision = revision;
  }

  /** Keeps the chat as a new one from now on. */
  renew(): void {
    this.#id = newId();
    this.#revision = undefined;
    this.#unanswered.clear();
  }

  /** Saves a document. Rejects with what the last call rejected with. */
  async save(document: ChatDocument, replaces: string[], calls: ChatCalls): Promise<void> {
    try {
      await this.#send(document, replaces, calls);
    } catch (thrown) {
      const stored = isConflict(thrown) ? await this.#findOwn(calls) : undefined;
      if (stored === undefined) throw thrown;
      this.#revision = stored.revision;
      if (stored.text === JSON.stringify(document)) this.#unanswered.clear();
      else await this.#send(document, replaces, calls);
    }
  }

  async #send(document: ChatDocument, replaces: string[], { keep }: ChatCalls): Promise<void> {
    const chat = { id: this.#id, revision: this.#revision, replaces };
    try {
      // The server keeps more kinds of parts than this release knows.
      const body = document as unknown as StoredDocument;
      this.#revision = (await keep({ ...chat, document: body })).revision;
      this.#unanswered.clear();
    } catch (thrown) {
      const after = keepingAfter(thrown);
      if (after.state === "failed" && after.isPassing) this.#unanswered.add(document);
      throw thrown;
    }
  }

  /** Returns what is stored if this tab has sent it. */
  async #findOwn({ find }: ChatCalls) {
    if (this.#unanswered.size === 0) return undefined;
    const { revision, document } = await find(this.#id);
    const text = JSON.stringify(document);
    const isOwn = [...this.#unanswered].some((sent) => JSON.stringify(sent) === text);
    return isOwn ? { revision, text } : undefined;
  }
}

function isConflict(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.code === "version_conflict";
}

/** `randomUUID` is missing over plain HTTP. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_LENGTH));
  return `chat_${Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join("")}`;
}
