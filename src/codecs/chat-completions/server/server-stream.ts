import type { ChatEvent, FinishEvent, FinishReason } from "../../../core/chat/chat-event.ts";
import { frameLiterals } from "../../../core/chat/frame-literals.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import type { AnswerContext, StreamEncoder } from "../../codec.ts";
import { encodeExtension, encodeToolRun } from "../../shared/answer-extension.ts";
import { encodeError } from "../../shared/errors/openai-error-body.ts";
import { withWholeLogprobs } from "../extras.ts";
import { isCut, writeFinishReason } from "../finish-reasons.ts";
import type { ChatForm } from "./chat-form.ts";
import { encodeUsage } from "./encode-answer.ts";

const DONE = "data: [DONE]\n\n";

/** Creates an encoder for one stream. */
export function createStreamEncoder(context: AnswerContext, form: ChatForm): StreamEncoder {
  const chunks = new ChunkEncoder(context, form);
  return {
    encode(events) {
      let text = "";
      for (const event of events) {
        if (form.isEmpty !== true || !isContent(event)) text += chunks.encode(event);
      }
      return text;
    },
  };
}

function isContent({ type }: ChatEvent): boolean {
  return type !== "start" && type !== "source" && type !== "finish" && type !== "error";
}

/**
 * Encodes the chunks of a stream. They differ only in their delta, so the text around it is built once per stream; for
 * a piece of text, only the text is converted to JSON.
 */
class ChunkEncoder {
  readonly #context: AnswerContext;
  readonly #includeUsage: boolean;
  readonly #isEmpty: boolean;
  /** The text before and after the delta of a chunk with no other content. */
  readonly #head: string;
  readonly #tail: string;
  readonly #textHead: string;
  readonly #reasoningHead: string;
  readonly #textTail: string;
  /** The index of each tool call in the answer, by block number. */
  readonly #callIndexes = new Map<number, number>();
  /** The calls that have no arguments yet. */
  readonly #bareCalls = new Set<number>();
  readonly #sources: JsonObject[] = [];
  #ended = false;

  constructor(context: AnswerContext, { includeUsage, isEmpty = false }: ChatForm) {
    const { requestId, created, model } = context;
    this.#context = context;
    this.#includeUsage = includeUsage;
    this.#isEmpty = isEmpty;
    const id = JSON.stringify(`chatcmpl-${requestId}`);
    this.#head =
      `data: {"id":${id},"object":"chat.completion.chunk","created":${created},` +
      `"model":${JSON.stringify(model)},"choices":[{"index":0,"delta":`;
    const usage = includeUsage ? ',"usage":null' : "";
    this.#tail = `,"logprobs":null,"finish_reason":null}]${usage}}\n\n`;
    this.#textHead = `${this.#head}{"content":`;
    this.#reasoningHead = `${this.#head}{"reasoning_content":`;
    this.#textTail = `}${this.#tail}`;
  }

  encode(event: ChatEvent): string {
    switch (event.type) {
      case "text-delta":
        if (event.extra !== undefined) return this.#chunk({ content: event.text }, event.extra);
        return frameLiterals(event, this.#textHead, this.#textTail);
      case "reasoning-delta":
        if (event.extra !== undefined) {
          return this.#chunk({ reasoning_content: event.text }, event.extra);
        }
        if (event.text === "") return "";
        return frameLiterals(event, this.#reasoningHead, this.#textTail);
      case "refusal-delta":
        return this.#chunk({ refusal: event.text }, event.extra);
      case "tool-call-start":
        return this.#callStart(event.block, event.callId, event.name);
      case "tool-call-delta":
        return this.#callDelta(event.block, event.arguments);
      case "start":
        return this.#start(event.extra);
      case "source":
        this.#sources.push(event.source);
        return "";
      case "finish":
        return this.#end(this.#finish(event));
      case "error":
        return this.#end(frame(encodeError(event.error)));
      // This format has no blocks and no seals.
      case "block-start":
      case "block-end":
      case "signature":
      case "search":
        return "";
      case "tool-run":
        return this.#chunk({}, undefined, encodeToolRun(event.run));
    }
  }

  #start(extra: JsonObject | undefined): string {
    const extension = encodeExtension({ context: this.#context });
    return this.#chunk({ role: "assistant", content: "" }, undefined, { ...extra, ...extension });
  }

  #callStart(block: number, id: string, name: string): string {
    const index = this.#callIndexes.size;
    this.#callIndexes.set(block, index);
    this.#bareCalls.add(block);
    const call = { index, id, type: "function", function: { name, arguments: "" } };
    return this.#chunk({ tool_calls: [call] });
  }

  #callDelta(block: number, text: string): string {
    if (text !== "") this.#bareCalls.delete(block);
    const call = `{"index":${this.#callIndexes.get(block)},"function":{"arguments":${JSON.stringify(text)}}}`;
    return `${this.#head}{"tool_calls":[${call}]}${this.#tail}`;
  }

  #finish({ reason, usage, extra = {} }: FinishEvent): string {
    const { message, ...choiceExtra } = this.#isEmpty ? {} : extra;
    const delta = isJsonObject(message) ? message : {};
    const finishReason = this.#isEmpty ? "length" : writeFinishReason(reason);
    const choice = { ...choiceExtra, finish_reason: finishReason };
    const last = this.#chunk(delta, choice, encodeExtension({ sources: this.#sources }));
    // Only clients that request usage can read a chunk without a choice.
    const end = this.#endBareCalls(reason) + last;
    if (!this.#includeUsage || usage === undefined) return end;
    return end + this.#frame({ choices: [], usage: encodeUsage(usage) });
  }

  /** Clients parse the arguments of a whole call, and an empty string is not valid JSON. */
  #endBareCalls(reason: FinishReason): string {
    if (isCut(reason)) return "";
    return [...this.#bareCalls].map((block) => this.#callDelta(block, "{}")).join("");
  }

  #end(frames: string): string {
    if (this.#ended) return "";
    this.#ended = true;
    return frames + DONE;
  }

  /** Returns a chunk that carries more than a piece of text. */
  #chunk(delta: JsonObject, choice?: JsonObject, extra?: JsonObject): string {
    return this.#frame({
      ...extra,
      choices: [
        {
          index: 0,
          logprobs: null,
          finish_reason: null,
          ...(choice && withWholeLogprobs(choice)),
          delta,
        },
      ],
      ...(this.#includeUsage && { usage: null }),
    });
  }

  #frame(members: JsonObject): string {
    const { requestId, created, model } = this.#context;
    const id = `chatcmpl-${requestId}`;
    return frame({ ...members, id, object: "chat.completion.chunk", created, model });
  }
}

function frame(body: JsonObject): string {
  return `data: ${JSON.stringify(body)}\n\n`;
}
