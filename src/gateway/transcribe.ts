import type { Speech, SpeechAnswer } from "../backends/vendors/speech.ts";
import type { ChatEvents } from "../core/chat/chat-event.ts";
import type { LimitStatus } from "../core/limit-status.ts";
import { type TranscriptionRequest, transcriptUsage } from "../core/transcription.ts";
import { admitCall, refuseBoundKey } from "./admit.ts";
import type { ClientCall } from "./gateway.ts";
import { CallMeter, type MeteringGateway } from "./meter/call-meter.ts";
import { meterCall, meterWhole } from "./meter/meter.ts";

/** The part of the gateway that transcription needs. */
export interface TranscriptionGateway extends MeteringGateway {
  readonly speech: Speech;
}

/** The answer in the form that the client requested. Both forms reject with a `ServiceError`. */
export type TranscriptionReply = (
  | { readonly kind: "whole"; readonly answer: WholeTranscript }
  | { readonly kind: "stream"; readonly events: Promise<ChatEvents> }
) & {
  /** The remaining limits of the caller's key; undefined when it has no limits. */
  readonly limits: LimitStatus | undefined;
};

type WholeTranscript = Awaited<ReturnType<SpeechAnswer["whole"]>>;

/** The model in the usage row when the server's list does not contain it and no answer has confirmed it. */
const UNNAMED_MODEL = "unknown";

/**
 * A second of speech, compressed as far as recorders do, is 2,000 bytes. It produces about five tokens of text, and ten
 * when a server also counts the recording.
 */
const BYTES_PER_TOKEN = 128;

/**
 * Transcribes a recording. Throws a `ServiceError`.
 *
 * The usage row has the server's tokens if the server counts them. Otherwise it has an estimate of the transcript's
 * tokens, and 0 for the recording, because seconds are not tokens. No server accepts a limit for its transcript, so the
 * reservation is only likely to suffice. A call may use a reservation that is smaller, so one transcript may exceed a
 * key's tokens.
 */
export async function transcribe(
  gateway: TranscriptionGateway,
  call: ClientCall,
  request: TranscriptionRequest,
): Promise<TranscriptionReply> {
  refuseBoundKey(call.caller);
  const { speech } = gateway;
  const { format, stream } = request;
  const model = await speech.modelFor(request.model);
  const outputTokens = Math.ceil(lengthOf(request) / BYTES_PER_TOKEN);
  const admission = await admitCall(gateway, call, { inputTokens: 0, outputTokens });
  const meter = new CallMeter(gateway, call, admission && { admission });
  const isListed = model !== undefined && speech.isListed(model);
  await meter.begin({ model: isListed ? model : UNNAMED_MODEL, inputTokens: 0 });
  const answering = speech.transcribe(request, model, call);
  const answered = <Answer>(answer: Answer): Answer => {
    // A name made up by the client, which no server has accepted, would get sums of its own.
    meter.setModel(model ?? UNNAMED_MODEL);
    return answer;
  };
  const limits = admission?.status;
  if (stream) {
    const events = answering.then(({ events: read }) => read(format)).then(answered);
    return { kind: "stream", events: meterCall(meter, events), limits };
  }
  const whole = answering.then(({ whole: read }) => read(format)).then(answered);
  const answer = await meterWhole(meter, whole, ({ text, usage }) => ({
    usage: transcriptUsage(text, usage),
  }));
  return { kind: "whole", answer, limits };
}

function lengthOf({ parts }: TranscriptionRequest): number {
  return parts.flatMap(({ content }) => content).reduce((sum, { length }) => sum + length, 0);
}
