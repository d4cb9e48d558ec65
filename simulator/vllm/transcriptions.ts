import { type Call, sendJson } from "../call.ts";
import { speakWhole } from "../content/speak.ts";
import { type Part, readMultipart } from "../http/read-multipart.ts";
import { headerOf } from "../http/request-reader.ts";
import { can, findModel } from "../models.ts";
import { badRequest, vllmError } from "./bad-request.ts";

const WAV_HEADER_BYTES = 44;
/** 16-bit mono at 16 kHz. */
const BYTES_PER_SECOND = 32_000;

interface Transcript {
  readonly text: string;
  readonly seconds: number;
  readonly language: string;
}

/** Handles POST /v1/audio/transcriptions: any model name is served, except those of chat and embedding models. */
export function transcriptions(call: Call): Promise<void> {
  const { entry, exchange, options } = call;
  const { request } = exchange;
  const parts = readMultipart(headerOf(request, "content-type") ?? "", request.body);
  if (!parts) throw badRequest("the body must be multipart/form-data");
  const text = (name: string) => findPart(parts, name)?.body.toString("utf8");
  const file = findPart(parts, "file");
  if (file?.filename === undefined) {
    throw vllmError(422, "UnprocessableEntityError", {
      message: "file must be a file",
      param: "file",
    });
  }
  entry.model = text("model");
  const model = findModel(options.models, entry.model);
  if (model && !can(model, "audio")) {
    throw badRequest("The model does not support Transcriptions API", "model");
  }
  const transcript = transcribe(file, text("language") ?? "en");
  return sendTranscript(call, transcript, text("response_format") ?? "json");
}

function findPart(parts: readonly Part[], name: string): Part | undefined {
  return parts.find((part) => part.name === name);
}

function transcribe(file: Part, language: string): Transcript {
  const { length } = file.body;
  const seconds = Math.max(0, length - WAV_HEADER_BYTES) / BYTES_PER_SECOND;
  return { text: `The simulator heard ${file.filename}, ${length} bytes.`, seconds, language };
}

function sendTranscript(call: Call, { text, seconds, language }: Transcript, format: string) {
  const usage = { type: "duration", seconds: Math.ceil(seconds) };
  const plain = { "content-type": "text/plain; charset=utf-8" };
  switch (format) {
    case "json":
      return speakWhole(call, { text, usage }, null);
    case "text":
      return call.exchange.send(200, text, plain);
    case "srt":
      return call.exchange.send(200, `1\n${timing(seconds, ",")}\n${text}\n\n`, plain);
    case "vtt":
      return call.exchange.send(200, `WEBVTT\n\n${timing(seconds, ".")}\n${text}\n\n`, plain);
    case "verbose_json":
      return sendJson(call, 200, {
        task: "transcribe",
        language,
        duration: String(seconds),
        text,
        segments: [segment(text, seconds)],
        words: null,
      });
    default:
      throw badRequest(`Unsupported response_format: ${format}`, "response_format");
  }
}

function segment(text: string, seconds: number): object {
  return {
    id: 0,
    seek: 0,
    start: 0,
    end: seconds,
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: -0.1,
    compression_ratio: 1,
    no_speech_prob: 0,
  };
}

function timing(seconds: number, point: string): string {
  const clock = new Date(seconds * 1000).toISOString().slice(11, 23).replace(".", point);
  return `00:00:00${point}000 --> ${clock}`;
}
