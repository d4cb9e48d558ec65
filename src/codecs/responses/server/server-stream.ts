import type {
  ChatEvent,
  FinishEvent,
  FoundPassage,
  SearchEvent,
  ToolCallStartEvent,
  ToolRun,
} from "../../../core/chat/chat-event.ts";
import type { ServiceError } from "../../../core/service-error.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { AnswerContext, StreamEncoder } from "../../codec.ts";
import { encodeToolRun } from "../../shared/answer-extension.ts";
import { ResponseEncoder } from "./encode-response.ts";
import { outcomeOf } from "./finish-outcome.ts";
import { type CallItem, CustomCallItem, FunctionCallItem } from "./items/call-item.ts";
import type { ItemStatus } from "./items/encode-items.ts";
import { EventFrames } from "./items/event-frames.ts";
import { encodeFileSearch, fileSearchFrames } from "./items/file-search-item.ts";
import { MessageItem } from "./items/message-item.ts";
import { ReasoningItem } from "./items/reasoning-item.ts";
import type { ItemPlace, StreamItem } from "./items/stream-item.ts";
import type { ResponsesForm } from "./responses-form.ts";

/** Creates an encoder for one stream. */
export function createStreamEncoder(context: AnswerContext, form: ResponsesForm): StreamEncoder {
  const answer = new AnswerEncoder(context, form);
  return {
    encode(events) {
      let text = "";
      for (const event of events) text += answer.encode(event);
      return text;
    },
  };
}

/**
 * Encodes the events of a stream. An item's last event reports whether the item is complete, which only the next event
 * shows; so an ended item waits for that event. Consecutive text and refusal blocks are one message.
 */
class AnswerEncoder {
  readonly #requestId: string;
  readonly #form: ResponsesForm;
  readonly #frames = new EventFrames();
  readonly #responses: ResponseEncoder;
  /** Finished items, by output index. */
  readonly #output: JsonObject[] = [];
  readonly #sources: JsonObject[] = [];
  readonly #calls = new Map<number, CallItem>();
  #message: MessageItem | undefined;
  #reasoning: ReasoningItem | undefined;
  /** Ended items that wait for the next event. */
  #waiting: StreamItem[] = [];
  /** The passages of the client's own search. */
  #found: readonly FoundPassage[] = [];
  #nextIndex = 0;
  #begun = false;
  #over = false;

  constructor(context: AnswerContext, form: ResponsesForm) {
    this.#requestId = context.requestId;
    this.#form = form;
    this.#responses = new ResponseEncoder(context, form);
  }

  encode(event: ChatEvent): string {
    switch (event.type) {
      case "text-delta":
      case "refusal-delta":
        return this.#message?.delta(event) ?? "";
      case "reasoning-delta":
        return this.#reasoning?.delta(event) ?? "";
      case "tool-call-delta":
        return (
          this.#release("completed") + (this.#calls.get(event.block)?.delta(event.arguments) ?? "")
        );
      case "start":
        return this.#begin();
      case "block-start":
        return event.kind === "reasoning" ? this.#startReasoning() : this.#startPart(event.kind);
      case "tool-call-start":
        return this.#startCall(event);
      case "signature":
        this.#reasoning?.seal(event);
        return "";
      case "block-end":
        return this.#endBlock(event.block);
      case "source":
        this.#sources.push(event.source);
        return "";
      case "search":
        return this.#search(event);
      case "tool-run":
        return this.#report(event.run);
      case "finish":
        return this.#finish(event);
      case "error":
        return this.#fail(event.error);
    }
  }

  #begin(): string {
    if (this.#begun) return "";
    this.#begun = true;
    const response = this.#responses.encode({ output: [] });
    return (
      this.#frames.response("response.created", response) +
      this.#frames.response("response.in_progress", response)
    );
  }

  #report(run: ToolRun): string {
    // A client's library continues from this response, so it has all items so far.
    const output = [...this.#output];
    const message = this.#message === undefined ? [] : [this.#message];
    for (const item of [...this.#waiting, ...message]) {
      output[item.outputIndex] = item.encode("completed");
    }
    const response = this.#responses.encode({ output });
    return this.#frames.response("response.in_progress", response, encodeToolRun(run));
  }

  #search(event: SearchEvent): string {
    this.#found = event.found;
    const place = this.#nextPlace();
    const item = encodeFileSearch(event, place, this.#form.wantsSearchResults);
    this.#output[place.outputIndex] = item;
    return fileSearchFrames(item, place);
  }

  #startPart(kind: "text" | "refusal"): string {
    if (this.#message !== undefined) return this.#message.beginPart(kind);
    const released = this.#release("completed");
    this.#message = new MessageItem(this.#nextPlace(), this.#found);
    return released + this.#message.begin() + this.#message.beginPart(kind);
  }

  #startReasoning(): string {
    const released = this.#release("completed");
    this.#reasoning = new ReasoningItem(this.#nextPlace(), this.#form);
    return released + this.#reasoning.begin();
  }

  #startCall({ block, callId, name }: ToolCallStartEvent): string {
    const released = this.#release("completed");
    const tool = this.#form.toolNames.find(name);
    const call = { callId, name: tool?.name ?? name, namespace: tool?.namespace };
    const place = this.#nextPlace();
    const item = tool?.isCustom
      ? new CustomCallItem(place, call)
      : new FunctionCallItem(place, call);
    this.#calls.set(block, item);
    return released + item.begin();
  }

  #endBlock(block: number): string {
    const call = this.#calls.get(block);
    if (call !== undefined) {
      this.#calls.delete(block);
      this.#waiting.push(call);
      return call.end();
    }
    if (this.#reasoning !== undefined) {
      const reasoning = this.#reasoning;
      this.#reasoning = undefined;
      this.#waiting.push(reasoning);
      return reasoning.end();
    }
    return this.#message?.end() ?? "";
  }

  /** Finishes the ended items. The last item of a truncated answer has the status of the answer. */
  #release(lastStatus: ItemStatus): string {
    if (this.#message !== undefined && !this.#message.hasOpenPart) {
      this.#waiting.push(this.#message);
      this.#message = undefined;
    }
    if (this.#waiting.length === 0) return "";
    const waiting = this.#waiting;
    this.#waiting = [];
    let text = "";
    for (const item of waiting) {
      const isLast = item.outputIndex === this.#nextIndex - 1;
      text += this.#done(item, isLast ? lastStatus : "completed");
    }
    return text;
  }

  #done(item: StreamItem, status: ItemStatus): string {
    const { outputIndex } = item;
    const encoded = item.encode(status);
    this.#output[outputIndex] = encoded;
    const members = { output_index: outputIndex, item: encoded };
    return this.#frames.event("response.output_item.done", members);
  }

  #finish({ reason, usage }: FinishEvent): string {
    if (this.#over) return "";
    const outcome = outcomeOf(reason);
    const released = this.#begin() + this.#release(outcome.status);
    this.#over = true;
    const state = { output: this.#output, outcome, usage, sources: this.#sources };
    const last = this.#frames.response(`response.${outcome.status}`, this.#responses.encode(state));
    return released + last;
  }

  /** Leaves unfinished items unfinished: a client must not act on an incomplete call. */
  #fail(error: ServiceError): string {
    if (this.#over) return "";
    const released = this.#begin() + this.#release("completed");
    this.#over = true;
    const output = this.#output.filter((item) => item !== undefined);
    const outcome = { status: "failed", error } as const;
    const response = this.#responses.encode({ output, outcome });
    return released + this.#frames.response("response.failed", response);
  }

  #nextPlace(): ItemPlace {
    const outputIndex = this.#nextIndex++;
    return { frames: this.#frames, requestId: this.#requestId, outputIndex };
  }
}
