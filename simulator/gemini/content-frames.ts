import type { Answer } from "../content/answer.ts";
import type { Frame } from "../content/speak.ts";
import type { Json } from "../json.ts";
import type { Usage } from "../ledger.ts";
import {
  type ContentChunk,
  type ContentSettings,
  closingPart,
  renderUsage,
} from "./content-chunks.ts";

export interface ContentStream {
  readonly answer: Answer;
  readonly chunks: readonly ContentChunk[];
  readonly settings: ContentSettings;
  readonly finishReason: string;
  /** Fields of every chunk. */
  readonly head: Json;
  /** Frames one event; the index identifies the first event of an array. */
  readonly frame: (value: Json, index: number) => string;
  /** Closes the stream after the last event. */
  readonly closing: string;
}

/** Yields the chunks of a streamed answer; each reports the cumulative usage. */
export function* contentFrames(stream: ContentStream): Iterable<Frame> {
  const { answer, chunks, finishReason, frame, head, settings } = stream;
  let outputTokens = 0;
  let reasoningTokens = 0;
  let events = 0;
  for (const { parts, thoughts, tokens } of chunks) {
    outputTokens += tokens;
    reasoningTokens += thoughts;
    if (parts.length === 0) continue;
    const tells = answer.usage && { ...answer.usage, outputTokens, reasoningTokens };
    const candidate = { content: { parts, role: "model" }, index: 0 };
    const value = { candidates: [candidate], ...figures(tells), ...head };
    yield { bytes: frame(value, events), tokens, tells: tells ?? undefined };
    events += 1;
  }
  const isBare = chunks.every(({ parts }) => parts.length === 0) && finishReason !== "STOP";
  const content = isBare
    ? { role: "model" }
    : { parts: [closingPart(answer, settings)], role: "model" };
  const candidate = { content, finishReason, index: 0 };
  const value = { candidates: [candidate], ...figures(answer.usage), ...head };
  yield {
    bytes: frame(value, events) + stream.closing,
    tokens: 0,
    tells: answer.usage ?? undefined,
    isTerminal: true,
  };
}

export function figures(usage: Usage | null): Json {
  return usage ? { usageMetadata: renderUsage(usage) } : {};
}
