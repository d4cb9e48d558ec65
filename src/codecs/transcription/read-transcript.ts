import type { ChatEvent } from "../../core/chat/chat-event.ts";
import type { Usage } from "../../core/chat/usage.ts";
import { ServiceError } from "../../core/service-error.ts";
import { type TranscriptFormat, transcriptUsage } from "../../core/transcription.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { EventWriter } from "../shared/event-writer.ts";
import { readTranscriptUsage } from "./transcript-usage.ts";

/** A complete answer, checked and converted for the client. */
export interface Transcript {
  readonly body: string;
  readonly contentType: string;
  /** The transcribed text, for an estimate of its tokens. With srt and vtt it includes the time codes. */
  readonly text: string;
  /** Undefined when the server reports no tokens. */
  readonly usage: Usage | undefined;
  /** The fields of a JSON answer. */
  readonly fields: JsonObject;
}

export interface TranscriptAnswer {
  readonly contentType: string | undefined;
  readonly body: string;
  /** Returns the error that a JSON answer reports; undefined when it reports none. */
  readonly readError: (answer: JsonObject) => ServiceError | undefined;
}

const JSON_TYPE = "application/json";
const TEXT_TYPE = "text/plain; charset=utf-8";

/**
 * Reads a complete answer in the requested format. Throws the error that the answer reports, `upstream_error` when it
 * is no transcript, and `unsupported_parameter` when the server ignored the format, with what the server has used.
 */
export function readTranscript(answer: TranscriptAnswer, format: TranscriptFormat): Transcript {
  switch (format) {
    case "json":
    case "verbose_json":
    case "diarized_json":
      return readJson(answer);
    case "text":
    case "srt":
    case "vtt":
      return readText(answer, format);
  }
}

function readJson({ body, readError }: TranscriptAnswer): Transcript {
  const answer = parseJson(body);
  if (!isJsonObject(answer)) throw garbled();
  const error = readError(answer);
  if (error !== undefined) throw error;
  const { text, duration, usage } = answer;
  if (typeof text !== "string") throw garbled();
  // vLLM sends the duration as a string.
  const seconds = typeof duration === "string" ? Number(duration) : Number.NaN;
  return {
    body: Number.isFinite(seconds) ? JSON.stringify({ ...answer, duration: seconds }) : body,
    contentType: JSON_TYPE,
    text,
    usage: readTranscriptUsage(usage),
    fields: answer,
  };
}

function readText(answer: TranscriptAnswer, format: "text" | "srt" | "vtt"): Transcript {
  const text = plainText(answer, format);
  if (!isIn(format, text)) throw garbled(transcriptUsage(text, undefined));
  return { body: text, contentType: TEXT_TYPE, text, usage: undefined, fields: {} };
}

/** Returns the plain text; some servers wrap it in JSON. */
function plainText(
  { contentType = "", body, readError }: TranscriptAnswer,
  format: "text" | "srt" | "vtt",
): string {
  if (/\bhtml\b/i.test(contentType)) throw garbled();
  if (!/\bjson\b/i.test(contentType)) return body;
  const answer = parseJson(body);
  if (typeof answer === "string") return answer;
  if (!isJsonObject(answer)) throw garbled();
  const error = readError(answer);
  if (error !== undefined) throw error;
  const { text, usage } = answer;
  if (typeof text !== "string") throw garbled();
  if (format === "text") return text;
  throw new ServiceError(
    "unsupported_parameter",
    `The transcription server does not support the response_format '${format}'; use json or text.`,
    { param: "response_format", usage: transcriptUsage(text, readTranscriptUsage(usage)) },
  );
}

function isIn(format: "text" | "srt" | "vtt", text: string): boolean {
  switch (format) {
    case "text":
      return true;
    case "srt":
      return text.trim() === "" || text.includes("-->");
    case "vtt":
      return text.trimStart().startsWith("WEBVTT");
  }
}

/** Converts a complete answer to the events of a stream, for a server that cannot stream. */
export function transcriptEvents({ text, usage, fields }: Transcript): readonly ChatEvent[] {
  const writer = new EventWriter();
  writer.start();
  writer.delta("text", text, undefined);
  writer.end({ type: "finish", reason: "stop", usage, extra: { text, usage: fields["usage"] } });
  return writer.take();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param usage undefined for an answer that no model has made. */
function garbled(usage?: Usage): ServiceError {
  return new ServiceError(
    "upstream_error",
    "The server answered with something other than a transcript.",
    { usage },
  );
}
