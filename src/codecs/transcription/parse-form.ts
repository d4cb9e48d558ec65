import { ServiceError } from "../../core/service-error.ts";
import {
  TRANSCRIPT_FORMATS,
  type TranscriptFormat,
  type TranscriptionRequest,
} from "../../core/transcription.ts";
import type { FormPart } from "../../lib/multipart/read-multipart.ts";
import { invalidValue } from "../shared/check-request.ts";

const UNSTREAMED: ReadonlySet<TranscriptFormat> = new Set(["srt", "vtt", "verbose_json"]);
/** It is kept with the call's usage, and shown: a name is one line, and no longer than that. */
const MODEL = /^[^\p{Cc}]{0,200}$/u;
const MODEL_RULE = "a model's name: at most 200 characters, none of them a control character";
const TRUE = /^(?:true|1)$/i;
const FALSE = /^(?:false|0|)$/i;

/** Checks the form of a transcription. Throws `invalid_value` that names the field. */
export function parseTranscriptionForm(parts: readonly FormPart[]): TranscriptionRequest {
  checkRecording(parts.filter(({ name }) => name === "file"));
  const model = readField(parts, "model");
  if (model !== undefined && !MODEL.test(model)) throw invalidValue(["model"], MODEL_RULE, model);
  const format = readFormat(readField(parts, "response_format") ?? "json");
  const stream = readStream(readField(parts, "stream") ?? "");
  if (stream && UNSTREAMED.has(format)) {
    throw invalidValue(["stream"], `false with the response_format '${format}'`, true);
  }
  return { model: model === "" ? undefined : model, format, stream, parts };
}

function checkRecording([recording, second]: readonly FormPart[]): void {
  if (recording === undefined) {
    throw invalidFile("'file' is missing: send the recording as a file of the form.");
  }
  if (recording.filename === undefined) {
    throw invalidFile("'file' must be sent as a file, with a filename; it came as a text field.");
  }
  if (second !== undefined) {
    throw invalidFile("'file' was sent twice; send one recording a request.");
  }
}

/** Far above every name of a model. */
const FIELD_MAX_BYTES = 8 * 1024;

/** One of the few fields that the gateway itself reads; all others concern only the server. */
function readField(
  parts: readonly FormPart[],
  field: "model" | "response_format" | "stream",
): string | undefined {
  const [part, second] = parts.filter(({ name }) => name === field);
  if (part === undefined) return undefined;
  const bytes = part.content.reduce((sum, { length }) => sum + length, 0);
  if (bytes > FIELD_MAX_BYTES)
    throw invalidValue([field], `at most ${FIELD_MAX_BYTES} bytes`, bytes);
  const value = Buffer.concat(part.content.slice()).toString("utf8");
  if (second !== undefined) throw invalidValue([field], "one value", [value]);
  return value;
}

function readFormat(value: string): TranscriptFormat {
  const format = TRANSCRIPT_FORMATS.find((candidate) => candidate === value);
  if (format !== undefined) return format;
  const names = TRANSCRIPT_FORMATS.map((name) => JSON.stringify(name)).join(", ");
  throw invalidValue(["response_format"], `one of ${names}`, value);
}

function readStream(value: string): boolean {
  if (TRUE.test(value)) return true;
  if (FALSE.test(value)) return false;
  throw invalidValue(["stream"], 'one of "true", "false"', value);
}

function invalidFile(message: string): ServiceError {
  return new ServiceError("invalid_value", message, { param: "file" });
}
