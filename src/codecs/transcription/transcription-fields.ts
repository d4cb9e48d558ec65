import { ServiceError } from "../../core/service-error.ts";
import {
  TRANSCRIPT_FORMATS,
  type TranscriptFormat,
  type TranscriptionForm,
} from "../../core/transcription.ts";
import type { FormPart } from "../../lib/multipart/multipart-scanner.ts";
import { invalidValue } from "../shared/check-request.ts";

const READ_FIELDS = ["model", "response_format", "stream"] as const;
type ReadField = (typeof READ_FIELDS)[number];

/** The fields that the gateway itself reads; the server interprets all others. */
export const TRANSCRIPTION_FIELDS: ReadonlySet<string> = new Set(READ_FIELDS);

const UNSTREAMED: ReadonlySet<TranscriptFormat> = new Set(["srt", "vtt", "verbose_json"]);
/** Limits a model name to one line of at most 200 characters: it is stored with the call's usage and displayed. */
const MODEL = /^[^\p{Cc}]{0,200}$/u;
const MODEL_RULE = "a model's name: at most 200 characters, none of them a control character";
const TRUE = /^(?:true|1)$/i;
const FALSE = /^(?:false|0|)$/i;

/**
 * Checks the parts of a transcription's form as they are forwarded. Each method throws `invalid_value` that names the
 * field.
 */
export class TranscriptionFields {
  readonly #values = new Map<string, string>();
  #hasFile = false;

  /** True once the recording has begun. */
  get hasFile(): boolean {
    return this.#hasFile;
  }

  part({ name, isFile }: FormPart): void {
    if (name !== "file") return;
    if (!isFile) {
      throw invalidFile("'file' must be sent as a file, with a filename; it came as a text field.");
    }
    if (this.#hasFile) throw invalidFile("'file' was sent twice; send one recording per request.");
    this.#hasFile = true;
  }

  field(name: string, value: string): void {
    if (this.#values.has(name)) throw invalidValue([name], "one value", [value]);
    this.#values.set(name, value);
    if (name === "model" && !MODEL.test(value)) throw invalidValue([name], MODEL_RULE, value);
    if (name === "response_format") readFormat(value);
    if (name === "stream") readStream(value);
  }

  /** Ends the form. Throws when it has no recording, and when the format cannot be streamed. */
  end(): TranscriptionForm {
    if (!this.#hasFile) {
      throw invalidFile("'file' is missing: send the recording as a file of the form.");
    }
    const format = readFormat(this.#value("response_format") ?? "json");
    const stream = readStream(this.#value("stream") ?? "");
    if (stream && UNSTREAMED.has(format)) {
      throw invalidValue(["stream"], `false with the response_format '${format}'`, true);
    }
    return { format, stream };
  }

  #value(name: ReadField): string | undefined {
    return this.#values.get(name);
  }
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
