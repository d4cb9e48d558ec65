import { addEvent, settleParts } from "./add-event.ts";
import {
  addBeside,
  append,
  type ChatDocument,
  type ChatMessage,
  type MessageError,
  type MessagePart,
  showBranchThrough,
  update,
} from "./chat-document.ts";
import { type ChatRequest, fromQuestion, toRequest } from "./chat-request.ts";
import { readAnswer } from "./read-stream.ts";

/** What a chat needs of the world; the page brings it. */
export interface ChatWorld {
  /** Asks a model. Rejects with what the page can show: an error with a message, a code and the status of the answer. */
  readonly ask: (request: ChatRequest, signal: AbortSignal) => Promise<AskedAnswer>;
  /** Called when a question stands and when its answer has ended, which is when a chat is worth keeping. */
  readonly settled: (document: ChatDocument) => void;
  /** Calls back before the next picture of the screen: however fast tokens come, a page draws once a frame. */
  readonly nextFrame: (callback: () => void) => void;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface AskedAnswer {
  readonly body: ReadableStream<Uint8Array>;
  readonly requestId: string | null;
}

export interface LiveState {
  readonly document: ChatDocument;
  /** The answer that is being written. */
  readonly answering: string | null;
}

/** A chat in use: takes questions, reads answers, and tells whoever shows it. Answers come one at a time. */
export class LiveChat {
  readonly #world: ChatWorld;
  readonly #listeners = new Set<() => void>();
  #state: LiveState;
  #outline: LiveState;
  #stop: AbortController | undefined;
  #isFrameDue = false;

  constructor(document: ChatDocument, world: ChatWorld) {
    this.#world = world;
    this.#state = { document, answering: null };
    this.#outline = this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): LiveState => this.#state;

  /**
   * The state without what has come of the answer since it began. It stays the same object while the answer grows, so what
   * stands around the messages is not drawn with each frame.
   */
  readonly outline = (): LiveState => this.#outline;

  /** Asks a question behind the branch in view. Resolves when the answer has ended, in whatever way. */
  send(parts: readonly MessagePart[]): Promise<void> {
    return this.#ask(append(this.#state.document, this.#question(parts)).document);
  }

  /** Asks in the place of an earlier question; both stay. */
  edit(id: string, parts: readonly MessagePart[]): Promise<void> {
    return this.#ask(addBeside(this.#state.document, id, this.#question(parts)).document);
  }

  /** Asks for another answer in the place of one; both stay. */
  retry(answerId: string): Promise<void> {
    const { document } = this.#state;
    return this.#ask({ ...document, leaf: document.messages[answerId]?.parent ?? null });
  }

  /** Returns the document as it is worth keeping before the answer has ended: as if it was stopped now. */
  soFar(): ChatDocument {
    const { document, answering } = this.#state;
    const isThere = answering !== null && document.messages[answering] !== undefined;
    return isThere ? update(document, answering, { parts: settleParts(this.#parts()) }) : document;
  }

  /** Ends the answer that is being written, at once; what there is of it stays. */
  stop(): void {
    this.#stop?.abort();
  }

  /** Shows the branch through a message. */
  show(id: string): void {
    if (this.#state.answering !== null) return;
    this.change((document) => showBranchThrough(document, id));
  }

  /** Changes the model, the system prompt or parameters, or takes over what another tab has saved. */
  change(change: (document: ChatDocument) => ChatDocument): void {
    this.#publish({ ...this.#state, document: change(this.#state.document) });
  }

  async #ask(asked: ChatDocument): Promise<void> {
    if (this.#state.answering !== null) return;
    const { now, ask, settled } = this.#world;
    const request = toRequest(asked);
    const startedAt = now();
    const begun = append(asked, {
      ...{ role: "assistant", parts: [], model: asked.model, at: startedAt },
      // Until its end is known: what is kept of it before that, for a tab that may be closed, counts as stopped.
      state: "stopped",
    });
    const stop = new AbortController();
    this.#stop = stop;
    this.#publish({ document: begun.document, answering: begun.id });
    settled(asked);
    try {
      const { body, requestId } = await ask(request, stop.signal).catch((thrown: unknown) => {
        const shorter = isRefusal(thrown) ? fromQuestion(request) : undefined;
        if (shorter === undefined) throw thrown;
        return ask(shorter, stop.signal);
      });
      if (requestId !== null) this.#update({ request_id: requestId });
      await this.#read(body, { signal: stop.signal, startedAt });
    } catch (thrown) {
      if (!stop.signal.aborted) this.#update(failureOf(thrown, now()));
    }
    this.#update({ parts: settleParts(this.#parts()) });
    this.#stop = undefined;
    this.#publish({ ...this.#state, answering: null });
    settled(this.#state.document);
  }

  async #read(
    body: ReadableStream<Uint8Array>,
    { signal, startedAt }: { readonly signal: AbortSignal; readonly startedAt: number },
  ): Promise<void> {
    let firstMs: number | undefined;
    for await (const event of readAnswer(body, signal)) {
      const elapsed = this.#world.now() - startedAt;
      if (event.type === "text" || event.type === "thinking") firstMs ??= elapsed;
      if (event.type === "model") this.#update({ model: event.model });
      else if (event.type === "error") this.#update({ state: "failed", error: event.error });
      else if (event.type === "finish") this.#update({ state: "done", ...cutBy(event.reason) });
      else if (event.type === "usage") {
        const times = { ...(firstMs !== undefined && { first_ms: firstMs }), total_ms: elapsed };
        const usage = { input_tokens: event.input, output_tokens: event.output, ...times };
        this.#update({ usage });
      } else this.#update({ parts: addEvent(this.#parts(), event) });
    }
  }

  #question(parts: readonly MessagePart[]): Omit<ChatMessage, "parent"> {
    return { role: "user", parts, at: this.#world.now(), state: "done" };
  }

  /** What there is of the answer that is being written. */
  #parts(): readonly MessagePart[] {
    const { document, answering } = this.#state;
    return document.messages[answering ?? ""]?.parts ?? [];
  }

  #update(change: Parameters<typeof update>[2]): void {
    const { document, answering } = this.#state;
    // A document that was taken over may be without the answer: its words are lost, but it ends.
    if (answering === null || document.messages[answering] === undefined) return;
    this.#state = { document: update(document, answering, change), answering };
    if (this.#isFrameDue) return;
    this.#isFrameDue = true;
    this.#world.nextFrame(() => {
      this.#isFrameDue = false;
      this.#tell();
    });
  }

  #publish(state: LiveState): void {
    this.#state = state;
    this.#outline = state;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The request itself was refused: another one may be taken. */
function isRefusal(thrown: unknown): boolean {
  return (thrown as { readonly status?: unknown }).status === 400;
}

function cutBy(reason: string): { readonly error?: MessageError } {
  if (reason === "length") {
    const message = "The answer was cut at its limit of tokens.";
    return { error: { code: "length", message } };
  }
  if (reason === "content_filter") {
    return { error: { code: reason, message: "The model's provider cut the answer." } };
  }
  return {};
}

/** What an answer is that did not come: the error of its call, with what helps to look into it. */
function failureOf(thrown: unknown, now: number): Partial<ChatMessage> {
  const { code, message, requestId, retryAfterSeconds } = thrown as Readonly<
    Record<"code" | "message" | "requestId" | "retryAfterSeconds", unknown>
  >;
  return {
    state: "failed",
    error: {
      code: typeof code === "string" ? code : "error",
      message: typeof message === "string" ? message : "The answer failed in this page.",
      ...(typeof retryAfterSeconds === "number" && { retry_at: now + retryAfterSeconds * 1000 }),
    },
    ...(typeof requestId === "string" && { request_id: requestId }),
  };
}
