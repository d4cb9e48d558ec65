import type { Frame } from "../content/speak.ts";
import { tokenize } from "../content/tokenizer.ts";
import type { Json } from "../json.ts";
import type { Usage } from "../ledger.ts";
import type { Script } from "../script.ts";
import type { MessageBlock } from "./message-blocks.ts";

/** A ping is sent after this many deltas, even in the middle of a block. */
const PING_EVERY = 5;

export interface MessageEnd {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
  readonly stop_details: Json | null;
}

export interface StreamedMessage {
  /** The message without content and end, for the first event. */
  readonly head: Json;
  readonly blocks: readonly MessageBlock[];
  readonly end: MessageEnd;
  readonly usage: Usage | null;
  readonly script: Script | undefined;
}

/** Yields the events of a streamed message in Anthropic's order, with pings between them. */
export function* messagesFrames(message: StreamedMessage): Iterable<Frame> {
  const { blocks, end, head, usage } = message;
  const opening = usage ? { ...usage, outputTokens: 1, reasoningTokens: 0 } : undefined;
  yield frame("message_start", { message: head }, { tells: opening });
  let deltas = 0;
  for (const [index, block] of blocks.entries()) {
    yield frame("content_block_start", { index, content_block: openingOf(block) });
    if (index === 0) yield ping();
    for (const { delta, tokens } of deltasOf(block, message.script)) {
      yield frame("content_block_delta", { index, delta }, { tokens });
      deltas += 1;
      if (deltas % PING_EVERY === 0) yield ping();
    }
    yield frame("content_block_stop", { index });
  }
  if (blocks.length === 0) yield ping();
  const figures = usage ? { usage: renderUsage(usage) } : {};
  yield frame("message_delta", { delta: end, ...figures }, { tells: usage ?? undefined });
  yield { ...frame("message_stop", {}), isTerminal: true };
}

/** Frames an event of this format. */
export function frameEvent(type: string, payload: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...payload })}\n\n`;
}

function frame(
  type: string,
  payload: Json,
  { tokens = 0, tells }: { readonly tokens?: number; readonly tells?: Usage | undefined } = {},
): Frame {
  return { bytes: frameEvent(type, payload), tokens, tells };
}

const ping = () => frame("ping", {});

function openingOf(block: MessageBlock): Json {
  switch (block.type) {
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "redacted_thinking":
      return { type: "redacted_thinking", data: block.data };
    case "text":
      return { type: "text", text: "" };
    case "tool_use":
      return { type: "tool_use", id: block.id, name: block.name, input: {} };
  }
}

interface Delta {
  readonly delta: Json;
  readonly tokens: number;
}

function* deltasOf(block: MessageBlock, script: Script | undefined): Iterable<Delta> {
  switch (block.type) {
    case "thinking":
      for (const piece of block.pieces) {
        yield deltaOf({ type: "thinking_delta", thinking: piece }, piece);
      }
      return yield deltaOf({ type: "signature_delta", signature: block.signature }, "");
    case "redacted_thinking":
      return;
    case "text":
      for (let round = 0; round < block.repeat; round += 1) {
        for (const piece of block.pieces) yield deltaOf({ type: "text_delta", text: piece }, piece);
      }
      return;
    case "tool_use":
      return yield* argumentDeltas(block.text, script);
  }
}

/**
 * Yields the deltas of the arguments. The first one is empty, as in the real API; a call without arguments has no
 * other.
 */
function* argumentDeltas(text: string, script: Script | undefined): Iterable<Delta> {
  yield deltaOf({ type: "input_json_delta", partial_json: "" }, "");
  if (text === "{}") return;
  const length = script?.argumentCharacters ?? (text.length || 1);
  for (let at = 0; at < text.length; at += length) {
    const piece = text.slice(at, at + length);
    yield deltaOf({ type: "input_json_delta", partial_json: piece }, piece);
  }
}

function deltaOf(delta: Json, said: string): Delta {
  return { delta, tokens: said === "" ? 0 : tokenize(said).length };
}

/** Renders the usage of a message; the input tokens exclude those read from or written to the cache. */
export function renderUsage(usage: Usage): Json {
  const { cachedTokens = 0, cacheWriteTokens = 0, inputTokens, outputTokens } = usage;
  return {
    input_tokens: inputTokens - cachedTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens ?? 0 },
  };
}
