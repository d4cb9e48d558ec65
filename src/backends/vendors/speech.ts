import { readChunkError, readErrorMessage } from "../../codecs/shared/errors/openai-errors.ts";
import {
  readTranscript,
  type Transcript,
  transcriptEvents,
} from "../../codecs/transcription/read-transcript.ts";
import { createTranscriptReader } from "../../codecs/transcription/transcript-reader.ts";
import type { ChatEvents } from "../../core/chat/chat-event.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { TranscriptFormat, TranscriptionRequest } from "../../core/transcription.ts";
import type { FormPart } from "../../lib/multipart/read-multipart.ts";
import { textPart, type WrittenForm, writeMultipart } from "../../lib/multipart/write-multipart.ts";
import type { CallContext } from "../backend.ts";
import { listCards, listTags } from "../models/list-names.ts";
import { createSpeechModels, type SpeechModels } from "../models/speech-models.ts";
import { callUpstream } from "../upstream/call-upstream.ts";
import { concealError } from "../upstream/conceal.ts";
import { withVersion } from "../upstream/dedicated-upstream.ts";
import { limitIdle } from "../upstream/limit-idle.ts";
import { isWholeAnswer, readRefusal } from "../upstream/read-refusal.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { UpstreamEvents } from "../upstream/upstream-events.ts";
import { refusalError } from "../upstream/upstream-refusal.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";

/** Transcribes audio, and lists the models for it. */
export interface Speech extends SpeechModels {
  /**
   * Sends the form and resolves when the server has accepted it. Rejects with a `ServiceError`, or with the reason of the
   * signal, which ends the call at once.
   *
   * @param model to ask for in the place of the client's word; undefined leaves the form as it is.
   */
  readonly transcribe: (
    request: TranscriptionRequest,
    model: string | undefined,
    context: CallContext,
  ) => Promise<SpeechAnswer>;
}

/** An answer that is still unread. Read it in one of the two ways; both reject with a `ServiceError`. */
export interface SpeechAnswer {
  readonly whole: (format: TranscriptFormat) => Promise<Transcript>;
  /** Resolves when the first event has arrived. */
  readonly events: (format: TranscriptFormat) => Promise<ChatEvents>;
}

export interface SpeechOptions {
  readonly upstream: Upstream;
  /** How it lists its models; the transcription format is the same for all. */
  readonly kind: "vllm" | "ollama";
  /** The server does nothing but transcribe. */
  readonly isDedicated: boolean;
}

const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** Statuses of a local engine without the interface, or without a model for it. */
const KNOWS_NO_SPEECH: ReadonlySet<number> = new Set([404, 405, 501]);

export function createSpeech({ upstream, kind, isDedicated }: SpeechOptions): Speech {
  const versioned = withVersion(upstream);
  const models =
    kind === "ollama"
      ? { upstream, listNames: listTags }
      : { upstream: versioned, listNames: listCards };
  return {
    ...createSpeechModels({ ...models, isDedicated }),
    async transcribe(request, model, context) {
      const form = writeMultipart(withModel(request.parts, model));
      const response = await send(versioned, form, context);
      if (isWholeAnswer(response)) return openAnswer(versioned, response);
      const refusal = await readRefusal(response, { readErrorMessage });
      context.signal.throwIfAborted();
      if (!isDedicated && KNOWS_NO_SPEECH.has(refusal.status)) throw noSpeechServer();
      throw concealError(refusalError(refusal), versioned);
    },
  };
}

/** The parts with another model, in its place or at the end. */
function withModel(
  parts: readonly FormPart[],
  model: string | undefined,
): readonly Pick<FormPart, "head" | "content">[] {
  if (model === undefined) return parts;
  const field = textPart("model", model);
  if (!parts.some(({ name }) => name === "model")) return [...parts, field];
  return parts.map((part) =>
    part.name === "model" ? { head: part.head, content: field.content } : part,
  );
}

function send(
  upstream: Upstream,
  form: WrittenForm,
  { signal, trace }: CallContext,
): Promise<UpstreamResponse> {
  return callUpstream(upstream, {
    path: "/audio/transcriptions",
    form,
    stream: false,
    signal,
    trace,
  });
}

/** This is not an engine fault, and a retry would give the same result. */
function noSpeechServer(): ServiceError {
  return new ServiceError(
    "not_found",
    "No speech server is configured, and the local engine does not transcribe. The operator sets the address of one in SPEECH_BASE_URL.",
    { shouldRetry: false },
  );
}

function openAnswer(upstream: Upstream, response: UpstreamResponse): SpeechAnswer {
  const concealed = <Result>(reading: Promise<Result>) => reading.catch(concealing(upstream));
  return {
    whole: (format) => concealed(readWhole(response, format)),
    events: (format) => concealed(readEvents(upstream, response, format)),
  };
}

function concealing(upstream: Upstream): (thrown: unknown) => never {
  return (thrown) => {
    throw thrown instanceof ServiceError ? concealError(thrown, upstream) : thrown;
  };
}

async function readWhole(
  response: UpstreamResponse,
  format: TranscriptFormat,
): Promise<Transcript> {
  const { contentType } = response;
  const body = await response.text(MAX_ANSWER_BYTES);
  return readTranscript({ contentType, body, readError: readChunkError }, format);
}

async function readEvents(
  upstream: Upstream,
  response: UpstreamResponse,
  format: TranscriptFormat,
): Promise<ChatEvents> {
  if (!/^text\/event-stream/i.test(response.contentType ?? "")) {
    return onlyBatch(await readWhole(response, format));
  }
  const { maxEventBytes, idleTimeoutMs } = upstream.limits;
  const reader = createTranscriptReader(maxEventBytes, readChunkError);
  const events = new UpstreamEvents(limitIdle(response, idleTimeoutMs), { reader, upstream });
  // A stream that fails before any content is thrown, because the HTTP status can still report it.
  const first = (await events.peek()).find((event) => event.type !== "start");
  if (first?.type === "error") throw first.error;
  return events;
}

async function* onlyBatch(transcript: Transcript): ChatEvents {
  yield transcriptEvents(transcript);
}
