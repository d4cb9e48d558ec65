import * as z from "zod";
import type { FinishReason } from "../../core/chat/chat-event.ts";
import type { Usage } from "../../core/chat/usage.ts";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { rawElements, rawMember } from "../../lib/json/raw-json.ts";
import { EventWriter } from "../shared/event-writer.ts";
import { ThinkTagSplitter } from "../shared/think-tag-splitter.ts";
import { readErrorField, toEngineError } from "./engine-errors.ts";

const count = z.number().int().nonnegative().nullish();

const tokenLogprob = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.number()).nullish(),
});

const logprob = tokenLogprob.extend({ top_logprobs: z.array(tokenLogprob).nullish() });

const toolCall = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string().min(1), arguments: z.unknown() }),
});

const message = z.object({
  content: z.string().nullish(),
  thinking: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
});

/** The fields read from an answer of `POST /api/chat`: one line of a stream, or the body of a non-streaming answer. */
const answerLine = z.object({
  created_at: z.string().nullish(),
  message: message.nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: count,
  eval_count: count,
  logprobs: z.array(logprob).nullish(),
});

type AnswerLine = z.infer<typeof answerLine>;
type WireLogprob = z.infer<typeof logprob>;
type WireToolCall = z.infer<typeof toolCall>;

/** The maximum number of digits of a time stamp in a call id; ids have at most 64 characters. */
const MAX_STAMP_LENGTH = 40;

/** Reads one answer line by line. A non-streaming answer is a single line, which is also the last. */
export class AnswerReader {
  readonly writer = new EventWriter();
  readonly #thinkTags = new ThinkTagSplitter();
  readonly #callIds = new Set<string>();
  /** Log probabilities of tokens whose text is still held back. */
  #logprobs: WireLogprob[] = [];

  /**
   * Writes the events of one line. Throws a `ServiceError` for an error of the engine and for anything that is not an
   * answer.
   */
  read(text: string): void {
    const line = parseLine(text);
    if (!this.writer.started) this.writer.start();
    if (line.logprobs) this.#logprobs.push(...line.logprobs);
    const { message } = line;
    if (message?.thinking) this.#addThinking(message.thinking);
    if (message?.content) this.#addContent(message.content);
    if (message?.tool_calls?.length) {
      this.#addToolCalls(message.tool_calls, text, line);
    }
    if (line.done === true) this.#finish(line);
  }

  #addThinking(text: string): void {
    this.#flushContent();
    this.writer.delta("reasoning", text, this.#takeExtra());
  }

  #addContent(text: string): void {
    for (const piece of this.#thinkTags.push(text)) {
      this.writer.delta(piece.kind, piece.text, this.#takeExtra());
    }
  }

  #flushContent(): void {
    for (const piece of this.#thinkTags.flush()) {
      this.writer.delta(piece.kind, piece.text, this.#takeExtra());
    }
  }

  #addToolCalls(calls: readonly WireToolCall[], text: string, line: AnswerLine): void {
    this.#flushContent();
    const argumentTexts = readArguments(text);
    for (const [index, call] of calls.entries()) {
      const block = this.writer.startCall(this.#callId(call, line), call.function.name);
      this.writer.callDelta(block, argumentTexts[index] ?? "{}");
      this.writer.endCall(block);
    }
  }

  /**
   * Returns the call's id. Older engines send none; then the id consists of the line's time stamp and the block's
   * number. That is unique across the turns of a conversation without a clock or randomness.
   */
  #callId(call: WireToolCall, line: AnswerLine): string {
    const stamp = (line.created_at ?? "").replace(/\D/g, "").slice(0, MAX_STAMP_LENGTH);
    const made = `call_${stamp}_${this.writer.nextBlock}`;
    const id = call.id && !this.#callIds.has(call.id) ? call.id : made;
    this.#callIds.add(id);
    return id;
  }

  #finish(line: AnswerLine): void {
    this.#flushContent();
    const { textKind } = this.writer;
    // Tokens without text of their own, such as a stop token. Those of tool calls have no place and are dropped.
    if (textKind !== undefined && this.#logprobs.length > 0) {
      this.writer.delta(textKind, "", this.#takeExtra());
    }
    this.writer.end({ type: "finish", reason: this.#finishReason(line), usage: readUsage(line) });
  }

  #finishReason(line: AnswerLine): FinishReason {
    // Arguments cut off by the limit may be incomplete: the client must know.
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

/** Returns the arguments of the line's calls, exactly as they were sent. */
function readArguments(text: string): string[] {
  const calls = rawMember(rawMember(text, "message") ?? "{}", "tool_calls") ?? "[]";
  return rawElements(calls).map((call) => {
    const raw = rawMember(rawMember(call, "function") ?? "{}", "arguments") ?? "{}";
    if (raw === "null") return "{}";
    // Some servers that imitate the engine send the arguments as a JSON string.
    return raw.startsWith('"') ? JSON.parse(raw) || "{}" : raw;
  });
}

/** Reads the usage. The engine omits a count of zero, so one of the two is enough to know both. */
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
