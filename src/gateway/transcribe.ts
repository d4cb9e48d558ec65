import type { Speech, SpeechAnswer } from "../backends/speech.ts";
import type { ChatEvents, Usage } from "../core/chat-event.ts";
import { estimateTokens } from "../core/estimate-tokens.ts";
import type { TranscriptionForm, TranscriptionUpload } from "../core/transcription.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import { type MeteredCall, meter } from "./meter.ts";
import { failMetered, meteredAnswer } from "./metered-answer.ts";

/** What transcription stands on. */
export interface TranscriptionGateway extends Pick<Gateway, "journal" | "clock"> {
  readonly speech: Speech;
}

/** What the client's form asks for; both ways to answer reject with a `ServiceError`. */
export type TranscriptionReply =
  | { readonly kind: "whole"; readonly answer: WholeTranscript }
  | { readonly kind: "stream"; readonly events: Promise<ChatEvents> };

type WholeTranscript = Awaited<ReturnType<SpeechAnswer["whole"]>>;

/** In the usage row of a call that neither client nor server gives a model's name. */
const UNNAMED_MODEL = "unknown";

/**
 * Hands a recording on while it arrives. Resolves when the form has been read to its end, for what it asks of the
 * answer may stand behind the recording. Throws a `ServiceError`.
 *
 * The usage row has the server's tokens where it counts them. Else it has an estimate of the transcript's, and none for
 * the recording: seconds are no tokens.
 */
export async function transcribe(
  { speech, journal, clock }: TranscriptionGateway,
  call: ClientCall,
  upload: TranscriptionUpload,
): Promise<TranscriptionReply> {
  await upload.begin();
  const { requestId, caller, channel, startedAt, signal } = call;
  const start = {
    id: requestId,
    keyId: caller.keyId,
    channel,
    // The form may name it behind the recording, so that the row's end may know it better than its start.
    get model() {
      return upload.model() ?? UNNAMED_MODEL;
    },
    startedAt,
    inputTokens: 0,
  };
  const metered = { start, entry: await journal.open(start), clock, signal };
  const answering = speech.transcribe(upload, signal);
  const form = await readForm(metered, upload, answering);
  return form.stream
    ? { kind: "stream", events: meterStream(metered, answering, form) }
    : {
        kind: "whole",
        answer: await meteredAnswer(
          metered,
          answering.then(({ whole }) => whole(form.format)),
          usageOf,
        ),
      };
}

/** The form, as soon as it is read; a server that refuses it earlier ends the call. */
async function readForm(
  metered: MeteredCall,
  upload: TranscriptionUpload,
  answering: Promise<SpeechAnswer>,
): Promise<TranscriptionForm> {
  try {
    return await Promise.race([upload.form, answering.then(() => upload.form)]);
  } catch (thrown) {
    return failMetered(metered, thrown);
  }
}

async function meterStream(
  metered: MeteredCall,
  answering: Promise<SpeechAnswer>,
  { format }: TranscriptionForm,
): Promise<ChatEvents> {
  try {
    const { events } = await answering;
    return meter(await events(format), metered);
  } catch (thrown) {
    return failMetered(metered, thrown);
  }
}

function usageOf({ text, usage }: WholeTranscript): Usage {
  return usage ?? { inputTokens: 0, outputTokens: estimateTokens(text.length), estimated: true };
}
