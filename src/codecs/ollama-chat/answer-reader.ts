import type { ChatEvent, FinishReason, Usage } from "../../core/chat-event.ts";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { rawElements, rawMember } from "../../lib/raw-json.ts";
import { ThinkTagSplitter } from "../think-tag-splitter.ts";
import { BlockSequence } from "./block-sequence.ts";
import { readErrorField, toEngineError } from "./engine-errors.ts";
import { type AnswerLine, answerLine, type WireLogprob, type WireToolCall } from "./wire.ts";

/** Digits of a time stamp that go into a call id; ids have 64 characters at most. */
const MAX_STAMP_LENGTH = 40;

/** Reads one answer line by line. A non-streaming answer is a single line that is also the last. */
export class AnswerReader {
  readonly #blocks = new BlockSequence();
  readonly #thinkTags = new ThinkTagSplitter();
  readonly #callIds = new Set<string>();
  /** Of tokens whose text is still held back. */
  #logprobs: WireLogprob[] = [];
  #started = false;
  #finished = false;

  /** True after the line that says `done`. */
  get finished(): boolean {
    return this.#finished;
  }

  /** Adds the events of one line. Throws a `ServiceError` on an error of the engine and on anything but an answer. */
  read(text: string, events: ChatEvent[]): void {
    const line = parseLine(text);
    if (!this.#started) {
      this.#started = true;
      events.push({ type: "start" });
    }
    if (line.logprobs) this.#logprobs.push(...line.logprobs);
    const { message } = line;
    if (message?.thinking) this.#addThinking(message.thinking, events);
    if (message?.content) this.#addContent(message.content, events);
    if (message?.tool_calls?.length) {
      this.#addToolCalls(message.tool_calls, text, line, events);
    }
    if (line.done === true) this.#finish(line, events);
  }

  #addThinking(text: string, events: ChatEvent[]): void {
    this.#flushContent(events);
    this.#blocks.addText(events, "reasoning", text, this.#takeExtra());
  }

  #addContent(text: string, events: ChatEvent[]): void {
    for (const piece of this.#thinkTags.push(text)) {
      this.#blocks.addText(events, piece.kind, piece.text, this.#takeExtra());
    }
  }

  #flushContent(events: ChatEvent[]): void {
    for (const piece of this.#thinkTags.flush()) {
      this.#blocks.addText(events, piece.kind, piece.text, this.#takeExtra());
    }
  }

  #addToolCalls(
    calls: readonly WireToolCall[],
    text: string,
    line: AnswerLine,
    events: ChatEvent[],
  ): void {
    this.#flushContent(events);
    const argumentTexts = readArguments(text);
    for (const [index, call] of calls.entries()) {
      this.#blocks.addToolCall(events, {
        id: this.#callId(call, line),
        name: call.function.name,
        arguments: argumentTexts[index] ?? "{}",
      });
    }
  }

  /**
   * Older engines give no ids. Ours are made of the line's time stamp and the block's number, which makes them unique
   * over the turns of a conversation without a clock or chance.
   */
  #callId(call: WireToolCall, line: AnswerLine): string {
    const stamp = (line.created_at ?? "").replace(/\D/g, "").slice(0, MAX_STAMP_LENGTH);
    const made = `call_${stamp}_${this.#blocks.next}`;
    const id = call.id && !this.#callIds.has(call.id) ? call.id : made;
    this.#callIds.add(id);
    return id;
  }

  #finish(line: AnswerLine, events: ChatEvent[]): void {
    this.#flushContent(events);
    const { open } = this.#blocks;
    // Tokens without text of their own, such as a stop token. Those of tool calls have no place and are left out.
    if (open !== undefined && this.#logprobs.length > 0) {
      this.#blocks.addText(events, open, "", this.#takeExtra());
    }
    this.#blocks.close(events);
    this.#finished = true;
    events.push({ type: "finish", reason: this.#finishReason(line), usage: readUsage(line) });
  }

  #finishReason(line: AnswerLine): FinishReason {
    // A call that the limit cut off may have broken arguments: the client must know.
    if (line.done_reason === "length") return "length";
    return this.#callIds.size > 0 ? "tool-calls" : "stop";
  }

  #takeExtra(): JsonObject | undefined {
    if (this.#logprobs.length === 0) return undefined;
    const content = this.#logprobs.map(toChatLogprob);
    this.#logprobs = [];
    return { logprobs: { content, refusal: null } };
  }
}

function parseLine(text: string): AnswerLine {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw garbage(cause);
  }
  const { error } = isJsonObject(json) ? json : {};
  if (error) throw toEngineError(readErrorField(error) ?? "The engine reported an error.");
  const parsed = answerLine.safeParse(json);
  if (!parsed.success) throw garbage(parsed.error);
  if (!parsed.data.message && parsed.data.done !== true) throw garbage(undefined);
  return parsed.data;
}

function garbage(cause: unknown): ServiceError {
  return new ServiceError("upstream_error", "The engine sent something that is not an answer.", {
    cause,
  });
}

/** The arguments of the line's calls, as the texts they stand in. */
function readArguments(text: string): string[] {
  const calls = rawMember(rawMember(text, "message") ?? "{}", "tool_calls") ?? "[]";
  return rawElements(calls).map((call) => {
    const raw = rawMember(rawMember(call, "function") ?? "{}", "arguments") ?? "{}";
    if (raw === "null") return "{}";
    // Not the engine's own form, but that of some servers that imitate it.
    return raw.startsWith('"') ? JSON.parse(raw) || "{}" : raw;
  });
}

/** A count is left out when it is zero, so one of them is enough to know both. */
function readUsage(line: AnswerLine): Usage | undefined {
  const { prompt_eval_count: input, eval_count: output } = line;
  if (input == null && output == null) return undefined;
  return { inputTokens: input ?? 0, outputTokens: output ?? 0 };
}

function toChatLogprob({ token, logprob, bytes, top_logprobs: top }: WireLogprob): JsonObject {
  return {
    token,
    logprob,
    bytes: bytes ?? null,
    top_logprobs: (top ?? []).map((entry) => ({ ...entry, bytes: entry.bytes ?? null })),
  };
}
