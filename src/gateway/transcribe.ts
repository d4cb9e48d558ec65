import type { Speech, SpeechAnswer } from "../backends/vendors/speech.ts";
import type { ChatEvents, Usage } from "../core/chat-event.ts";
import { estimateTokens } from "../core/estimate-tokens.ts";
import type { LimitStatus } from "../core/limit-status.ts";
import type { TranscriptionRequest } from "../core/transcription.ts";
import { admitCall, refuseBoundKey } from "./admit.ts";
import { CallMeter, type MeteringGateway } from "./call-meter.ts";
import type { ClientCall } from "./gateway.ts";
import { meterCall, meterWhole } from "./meter.ts";

/** What transcription needs of the gateway. */
export interface TranscriptionGateway extends MeteringGateway {
  readonly speech: Speech;
}

/** What the client's form asks for; both ways to answer reject with a `ServiceError`. */
export type TranscriptionReply = (
  | { readonly kind: "whole"; readonly answer: WholeTranscript }
  | { readonly kind: "stream"; readonly events: Promise<ChatEvents> }
) & {
  /** What is left of the limits of the caller's key; undefined when it has none. */
  readonly limits: LimitStatus | undefined;
};

type WholeTranscript = Awaited<ReturnType<SpeechAnswer["whole"]>>;

/** In the usage row of a call whose model is neither in the server's list nor confirmed by an answer. */
const UNNAMED_MODEL = "unknown";

/**
 * A second of speech, compressed as far as recorders do, is 2,000 bytes; it brings some five tokens of text, and ten
 * where a server counts the recording too.
 */
const BYTES_PER_TOKEN = 128;

/**
 * Has a recording transcribed. Throws a `ServiceError`.
 *
 * The usage row has the server's tokens where it counts them. Else it has an estimate of the transcript's, and none for
 * the recording: seconds are no tokens. No server takes a limit of its transcript, so what is reserved for it is only
 * likely to be enough, and where less is left a call may still have that: one transcript may exceed a key's tokens.
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
    // A word of the client's own making, which no server has taken, would have sums of its own.
    meter.setModel(model ?? UNNAMED_MODEL);
    return answer;
  };
  const limits = admission?.status;
  if (stream) {
    const events = answering.then(({ events: read }) => read(format)).then(answered);
    return { kind: "stream", events: meterCall(meter, events), limits };
  }
  const whole = answering.then(({ whole: read }) => read(format)).then(answered);
  const answer = await meterWhole(meter, whole, (made) => ({ usage: usageOf(made) }));
  return { kind: "whole", answer, limits };
}

function lengthOf({ parts }: TranscriptionRequest): number {
  return parts.flatMap(({ content }) => content).reduce((sum, { length }) => sum + length, 0);
}

function usageOf({ text, usage }: WholeTranscript): Usage {
  return usage ?? { inputTokens: 0, outputTokens: estimateTokens(text.length), estimated: true };
}
