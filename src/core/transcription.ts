import type { FormPart } from "../lib/multipart/read-multipart.ts";
import type { Usage } from "./chat/usage.ts";
import { estimateTokens } from "./estimate-tokens.ts";

export const TRANSCRIPT_FORMATS = [
  "json",
  "text",
  "srt",
  "vtt",
  "verbose_json",
  "diarized_json",
] as const;

export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** A transcription as its client asks for it. */
export interface TranscriptionRequest {
  /** The client's word for the model. */
  readonly model: string | undefined;
  readonly format: TranscriptFormat;
  /** Answer as server-sent events. */
  readonly stream: boolean;
  /** The whole form, the recording among its parts. Most fields concern only the server. */
  readonly parts: readonly FormPart[];
}

/** The server's tokens, else an estimate of the transcript's, and 0 for the recording: seconds are not tokens. */
export function transcriptUsage(text: string, reported: Usage | undefined): Usage {
  return reported ?? { inputTokens: 0, outputTokens: estimateTokens(text.length), estimated: true };
}
