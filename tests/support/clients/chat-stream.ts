import { expect } from "vitest";
import { type ChatError, expectChatForm } from "./expect-chat-error.ts";
import type { RawResponse } from "./raw-client.ts";

export interface ChatStream {
  /** All text, reasoning not included. */
  readonly text: string;
  /** Arguments of the tool calls by their index, put together. */
  readonly toolArguments: readonly string[];
  readonly finishReason: string | undefined;
  readonly usage:
    | { readonly prompt_tokens: number; readonly completion_tokens: number }
    | undefined;
  readonly models: ReadonlySet<string>;
  /** The error the stream ended with. */
  readonly error: ChatError | undefined;
  readonly keepalives: number;
  readonly isDone: boolean;
}

interface Chunk {
  readonly model?: string;
  readonly usage?: ChatStream["usage"] | null;
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly function?: { readonly arguments?: string };
      }[];
    };
    readonly finish_reason?: string | null;
  }[];
}

/** Reads a whole stream of the chat form. Fails on anything that has no place in one, or not there. */
export function readChatStream({ status, header, text, isComplete }: RawResponse): ChatStream {
  expect({ status, text: status === 200 ? "" : text }).toEqual({ status: 200, text: "" });
  expect(header("content-type")).toMatch(/^text\/event-stream/);
  expect(isComplete).toBe(true);
  const frames = text.split("\n\n");
  expect(frames.pop()).toBe("");
  const keepalives = frames.filter((frame) => frame.startsWith(":")).length;
  const data = frames.filter((frame) => !frame.startsWith(":")).map(dataOf);
  const doneAt = data.indexOf("[DONE]");
  if (doneAt !== -1) expect(doneAt).toBe(data.length - 1);
  const values = data.filter((one) => one !== "[DONE]").map((one) => JSON.parse(one) as object);
  const errorAt = values.findIndex((value) => "error" in value);
  if (errorAt !== -1) expect(errorAt).toBe(values.length - 1);
  const error = errorAt === -1 ? undefined : expectChatForm(values[errorAt]);
  return { ...join(values as Chunk[]), error, keepalives, isDone: doneAt !== -1 };
}

function dataOf(frame: string): string {
  expect(frame).toMatch(/^data: [^\n]*$/);
  return frame.slice("data: ".length);
}

function join(chunks: readonly Chunk[]) {
  const toolArguments: string[] = [];
  const models = new Set<string>();
  let text = "";
  let finishReason: string | undefined;
  let usage: ChatStream["usage"];
  for (const chunk of chunks) {
    if (chunk.model !== undefined) models.add(chunk.model);
    usage = chunk.usage ?? usage;
    const [choice] = chunk.choices ?? [];
    text += choice?.delta?.content ?? "";
    finishReason = choice?.finish_reason ?? finishReason;
    for (const call of choice?.delta?.tool_calls ?? []) {
      toolArguments[call.index] =
        (toolArguments[call.index] ?? "") + (call.function?.arguments ?? "");
    }
  }
  return { text, toolArguments, finishReason, usage, models };
}
