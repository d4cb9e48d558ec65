import type { ChatEvent, FinishEvent } from "../../../core/chat/chat-event.ts";
import { toServiceError } from "../../../core/service-error.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { AnswerContext, StreamEncoder } from "../../codec.ts";
import { encodeExtension, encodeToolRun } from "../../shared/answer-extension.ts";
import { BlockFrames } from "./block-frames.ts";
import { encodeError } from "./encode-error.ts";
import { encodeEnd, encodeMessage, encodeUsage, ownSeal } from "./encode-message.ts";
import { eventFrame } from "./event-frame.ts";
import type { MessagesForm } from "./messages-form.ts";

/** Creates an encoder for one stream. */
export function createStreamEncoder(context: AnswerContext, form: MessagesForm): StreamEncoder {
  const message = new MessageEncoder(context, form);
  return {
    encode(events) {
      let text = "";
      for (const event of events) text += message.encode(event);
      return text;
    },
  };
}

/**
 * The order of the events: `message_start (content_block_start content_block_delta* content_block_stop)* (message_delta
 * message_stop | error)`.
 */
class MessageEncoder {
  readonly #context: AnswerContext;
  readonly #form: MessagesForm;
  readonly #blocks: BlockFrames;
  readonly #sources: JsonObject[] = [];
  #inputTokens = 0;
  #ended = false;

  constructor(context: AnswerContext, form: MessagesForm) {
    this.#context = context;
    this.#form = form;
    this.#blocks = new BlockFrames(ownSeal(context.requestId), form.omitsThinking);
  }

  encode(event: ChatEvent): string {
    if (this.#ended) return "";
    switch (event.type) {
      case "start":
        return this.#start(event.inputTokens ?? 0);
      case "source":
        this.#sources.push(event.source);
        return "";
      case "search":
        return "";
      case "tool-run":
        return eventFrame({ type: "ping", ...encodeToolRun(event.run) });
      case "finish":
        return this.#finish(event);
      case "error":
        return this.#fail(event.error);
      default:
        return this.#form.fillsCacheOnly ? "" : this.#encodeContent(event);
    }
  }

  #encodeContent(event: ContentEvent): string {
    const blocks = this.#blocks;
    switch (event.type) {
      case "text-delta":
      case "refusal-delta":
        return blocks.text(event);
      case "reasoning-delta":
        return blocks.thought(event);
      case "tool-call-delta":
        return this.#callDelta(event.block, event.arguments);
      case "block-start":
        blocks.start(event.kind);
        return "";
      case "tool-call-start":
        return blocks.startCall(event);
      case "signature":
        blocks.sign(event);
        return "";
      case "block-end":
        return blocks.end(event.block);
    }
  }

  #callDelta(block: number, text: string): string {
    try {
      return this.#blocks.callDelta(block, text);
    } catch (thrown) {
      return this.#fail(thrown);
    }
  }

  /** Reports the prompt's tokens as far as they are known; the final figures come at the end. */
  #start(inputTokens: number): string {
    this.#inputTokens = inputTokens;
    const usage = { inputTokens, outputTokens: 0 };
    const head = encodeMessage(this.#context, encodeEnd(undefined, false, this.#form), usage);
    const extension = encodeExtension({ context: this.#context });
    return eventFrame({ type: "message_start", message: { ...head, content: [], ...extension } });
  }

  #finish(finish: FinishEvent): string {
    this.#ended = true;
    const blocks = this.#blocks.endAll();
    const delta = encodeEnd(finish, this.#blocks.refuses, this.#form);
    const usage = finish.usage ?? { inputTokens: this.#inputTokens, outputTokens: 0 };
    const end = eventFrame({
      type: "message_delta",
      delta: { ...delta, container: null },
      usage: encodeUsage(usage),
      ...encodeExtension({ sources: this.#sources }),
    });
    return blocks + end + eventFrame({ type: "message_stop" });
  }

  #fail(thrown: unknown): string {
    this.#ended = true;
    const body = encodeError(toServiceError(thrown), this.#context.requestId);
    return eventFrame({ ...body, type: "error" });
  }
}

type ContentEvent = Exclude<
  ChatEvent,
  { readonly type: "start" | "source" | "search" | "tool-run" | "finish" | "error" }
>;
