import type { Answer } from "../content/answer.ts";
import { tokenize } from "../content/tokenizer.ts";
import { type Json, objectOf, parseJson } from "../json.ts";
import type { Usage } from "../ledger.ts";
import { seal } from "../seals.ts";

export interface ContentChunk {
  readonly parts: readonly Json[];
  /** The tokens of the answer in this chunk, and how many of them are reasoning. */
  readonly tokens: number;
  readonly thoughts: number;
}

export interface ContentSettings {
  /** Reasoning is included in the answer. */
  readonly includesThoughts: boolean;
  /** Reasoning is sealed: on the first call, or at the end of the text. */
  readonly seals: boolean;
}

/** Returns the answer in the parts in which it is streamed. */
export function contentChunks(answer: Answer, settings: ContentSettings): ContentChunk[] {
  const chunks: ContentChunk[] = answer.reasoning.map((text) => {
    const tokens = tokenize(text).length;
    const parts = settings.includesThoughts ? [{ text, thought: true }] : [];
    return { parts, tokens, thoughts: tokens };
  });
  for (let round = 0; round < answer.repeat; round += 1) {
    for (const text of answer.text) {
      chunks.push({ parts: [{ text }], tokens: tokenize(text).length, thoughts: 0 });
    }
  }
  answer.toolCalls.forEach(({ arguments: text, name }, index) => {
    const args = objectOf(parseJson(text)) ?? {};
    const isSealed = settings.seals && index === 0;
    const signature = isSealed ? { thoughtSignature: seal("call", name) } : {};
    chunks.push({
      parts: [{ functionCall: { name, args }, ...signature }],
      tokens: tokenize(text).length,
      thoughts: 0,
    });
  });
  return chunks.filter(({ parts, thoughts }) => parts.length > 0 || thoughts > 0);
}

/** Returns the last part of an answer: empty, with the seal if no call carries it. */
export function closingPart(answer: Answer, { seals }: ContentSettings): Json {
  const isSealed = seals && answer.toolCalls.length === 0;
  return {
    text: "",
    ...(isSealed ? { thoughtSignature: seal("call", answer.reasoning.join("")) } : {}),
  };
}

/** Merges consecutive text parts for a non-streaming answer. */
export function joinParts(chunks: readonly ContentChunk[]): Json[] {
  const parts: Json[] = [];
  for (const part of chunks.flatMap((chunk) => chunk.parts)) {
    const last = parts.at(-1);
    const isSameKind =
      typeof last?.["text"] === "string" &&
      typeof part["text"] === "string" &&
      last["thought"] === part["thought"];
    if (isSameKind) {
      parts[parts.length - 1] = { ...last, ...part, text: `${last["text"]}${part["text"]}` };
    } else parts.push(part);
  }
  return parts;
}

/** Renders Google's usage; reasoning tokens are counted separately from the answer. */
export function renderUsage(usage: Usage): Json {
  const { cachedTokens = 0, inputTokens, outputTokens, reasoningTokens = 0 } = usage;
  const said = outputTokens - reasoningTokens;
  return {
    promptTokenCount: inputTokens,
    ...(said > 0 ? { candidatesTokenCount: said } : {}),
    totalTokenCount: inputTokens + outputTokens,
    ...(cachedTokens > 0 ? { cachedContentTokenCount: cachedTokens } : {}),
    promptTokensDetails: [{ modality: "TEXT", tokenCount: inputTokens }],
    ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
  };
}
