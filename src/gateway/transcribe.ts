import type { Speech, SpeechAnswer } from "../backends/vendors/speech.ts";
import type { ChatEvents, Usage } from "../core/chat-event.ts";
import { estimateTokens } from "../core/estimate-tokens.ts";
import type { LimitStatus } from "../core/limit-status.ts";
import type { TranscriptionForm, TranscriptionUpload } from "../core/transcription.ts";
import { admitCall, refuseBoundKey } from "./admit.ts";
import { CallMeter, type MeteringGateway } from "./call-meter.ts";
import type { ClientCall } from "./gateway.ts";
import { failMetered, meterCall, meterWhole } from "./meter.ts";

/** What transcription stands on. */
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

/** In the usage row of a call whose model neither the server's list nor its answer vouches for. */
const UNNAMED_MODEL = "unknown";

/**
 * A second of speech, pressed as far as recorders press it, is 2,000 bytes; it brings some five tokens of text, and ten
 * where a server counts the recording too.
 */
const BYTES_PER_TOKEN = 128;

/**
 * Hands a recording on while it arrives. Resolves when the form has been read to its end, for what it asks of the
 * answer may stand behind the recording. Throws a `ServiceError`.
 *
 * The usage row has the server's tokens where it counts them. Else it has an estimate of the transcript's, and none for
 * the recording: seconds are no tokens. No server takes a limit of its transcript, so what is reserved for it is only
 * likely to be enough, and where less is left a call may still have that: one transcript may exceed a key's tokens.
 */
export async function transcribe(
  gateway: TranscriptionGateway,
  call: ClientCall,
  upload: TranscriptionUpload,
): Promise<TranscriptionReply> {
  refuseBoundKey(call.caller);
  await upload.begin();
  const outputTokens = Math.ceil(upload.maxBytes / BYTES_PER_TOKEN);
  const admission = await admitCall(gateway, call, { inputTokens: 0, outputTokens });
  const meter = new CallMeter(gateway, call, admission && { admission });
  // The form may name it behind the recording. A word of the client's own making that no server has taken would leave
  // sums of its own.
  const listedModel = () => {
    const model = upload.model();
    return model !== undefined && gateway.speech.isListed(model) ? model : UNNAMED_MODEL;
  };
  await meter.begin({ model: listedModel(), inputTokens: 0 });
  const limits = admission?.status;
  const answering = gateway.speech.transcribe(upload, call);
  let form: TranscriptionForm;
  try {
    // A server that refuses it earlier ends the call.
    form = await Promise.race([upload.form, answering.then(() => upload.form)]);
  } catch (thrown) {
    meter.setModel(listedModel());
    return failMetered(meter, thrown);
  }
  meter.setModel(listedModel());
  const answered = <Answer>(answer: Answer): Answer => {
    meter.setModel(upload.model() ?? UNNAMED_MODEL);
    return answer;
  };
  if (form.stream) {
    const events = answering.then(({ events: read }) => read(form.format)).then(answered);
    return { kind: "stream", events: meterCall(meter, events), limits };
  }
  const whole = answering.then(({ whole: read }) => read(form.format)).then(answered);
  const answer = await meterWhole(meter, whole, (made) => ({ usage: usageOf(made) }));
  return { kind: "whole", answer, limits };
}

function usageOf({ text, usage }: WholeTranscript): Usage {
  return usage ?? { inputTokens: 0, outputTokens: estimateTokens(text.length), estimated: true };
}
