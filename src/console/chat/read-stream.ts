import { createParser } from "eventsource-parser";
import type { MessageError, Source, ToolRunPart } from "./chat-document.ts";

/** What a stream of `POST /api/v1/chat/completions` says, in its order. */
export type AnswerEvent =
  | { readonly type: "model"; readonly model: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  | { readonly type: "tool_run"; readonly run: ToolRunPart }
  | { readonly type: "sources"; readonly sources: readonly Source[] }
  | { readonly type: "usage"; readonly input: number; readonly output: number }
  /** `length` means that the answer was cut at the limit of its tokens. */
  | { readonly type: "finish"; readonly reason: string }
  | { readonly type: "error"; readonly error: MessageError };

interface Choice {
  readonly delta?: {
    readonly content?: string | null;
    readonly reasoning_content?: string | null;
    readonly refusal?: string | null;
  };
  readonly finish_reason?: string | null;
}

interface Chunk {
  readonly model?: string;
  readonly choices?: readonly Choice[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly ext?: {
    readonly model?: string;
    readonly sources?: readonly Source[];
    readonly tool_run?: Omit<ToolRunPart, "type">;
  };
  readonly error?: {
    readonly code?: string | null;
    readonly type?: string;
    readonly message?: string;
  };
}

const CUT: AnswerEvent = {
  type: "error",
  error: {
    code: "connection_lost",
    message: "The connection ended in the middle of the answer. What arrived is kept.",
  },
};

/**
 * Reads an answer as it comes. Ends with a `finish` or an `error`, also when the connection is lost; only an abort of the
 * caller's own rejects.
 */
export async function* readAnswer(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent, void> {
  let events: AnswerEvent[] = [];
  let isOver = false;
  const parser = createParser({
    onEvent({ data }) {
      if (data === "[DONE]") return;
      const read = toEvents(data);
      isOver ||= read.some(({ type }) => type === "finish" || type === "error");
      events.push(...read);
    },
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) break;
      parser.feed(decoder.decode(value, { stream: true }));
      const ready = events;
      events = [];
      yield* ready;
    }
  } catch (thrown) {
    if (signal.aborted) throw thrown;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
  signal.throwIfAborted();
  if (!isOver) yield CUT;
}

function toEvents(data: string): AnswerEvent[] {
  let chunk: Chunk;
  try {
    chunk = JSON.parse(data) as Chunk;
  } catch {
    return [CUT];
  }
  const { error, choices = [] } = chunk;
  if (error === undefined) {
    return [...fromExtension(chunk), ...choices.flatMap(fromChoice), ...fromUsage(chunk)];
  }
  const { code, type, message = "The answer ended with an error." } = error;
  return [{ type: "error", error: { code: code ?? type ?? "error", message } }];
}

/** An assistant tells which model answers for it; a model's name comes with the first chunk. */
function fromExtension({ ext = {}, model: named, choices }: Chunk): AnswerEvent[] {
  const { tool_run: run, sources } = ext;
  const model = ext.model ?? (choices?.[0]?.delta?.content === "" ? named : undefined);
  return [
    ...(model === undefined ? [] : [{ type: "model" as const, model }]),
    ...(run === undefined
      ? []
      : [{ type: "tool_run" as const, run: { type: "tool_run" as const, ...run } }]),
    ...(sources === undefined ? [] : [{ type: "sources" as const, sources }]),
  ];
}

function fromChoice({ delta = {}, finish_reason: reason }: Choice): AnswerEvent[] {
  const { content, reasoning_content: thinking, refusal } = delta;
  return [
    ...(thinking ? [{ type: "thinking" as const, text: thinking }] : []),
    ...(content ? [{ type: "text" as const, text: content }] : []),
    ...(refusal ? [{ type: "text" as const, text: refusal }] : []),
    ...(reason ? [{ type: "finish" as const, reason }] : []),
  ];
}

function fromUsage({ usage }: Chunk): AnswerEvent[] {
  if (!usage) return [];
  const { prompt_tokens: input = 0, completion_tokens: output = 0 } = usage;
  return [{ type: "usage", input, output }];
}
