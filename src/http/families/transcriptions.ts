import { encodeError } from "../../codecs/shared/errors/openai-error-body.ts";
import { parseTranscriptionForm } from "../../codecs/transcription/parse-form.ts";
import { createTranscriptEncoder } from "../../codecs/transcription/transcript-encoder.ts";
import {
  transcriptEventSchema,
  transcriptionRequestSchema,
  transcriptionSchema,
} from "../../codecs/transcription/wire.ts";
import type { ChatEvents } from "../../core/chat/chat-event.ts";
import type { Deps } from "../../deps.ts";
import { refuseBoundKey } from "../../gateway/admit.ts";
import type { OpenCall } from "../../gateway/open-calls.ts";
import { transcribe } from "../../gateway/transcribe.ts";
import { chatErrorForm } from "../answers/error-response.ts";
import { EVENT_STREAM_HEADERS, writeEventStream } from "../answers/write-event-stream.ts";
import { type BodyStream, readBodyStream } from "../bodies/read-body-stream.ts";
import { judgeEarly } from "../bodies/read-call-body.ts";
import { formBoundary, readForm } from "../bodies/read-form.ts";
import { CHAT_ERRORS, KEY_SECURITY, refusal } from "../openapi/documentation.ts";
import { logInternalError } from "../request/log-internal-error.ts";
import { openQuietCall } from "../request/open-quiet-call.ts";
import type { RequestContext, RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const { 404: _noAssistants, ...AUDIO_ERRORS } = CHAT_ERRORS;

const createTranscription: RouteDefinition<"caller"> = {
  access: "caller",
  audience: "public",
  channel: "audio",
  modelCall: true,
  method: "post",
  path: "/v1/audio/transcriptions",
  operationId: "createTranscription",
  tags: ["Audio"],
  summary: "Turn speech into text",
  description:
    "The form goes to the server that transcribes once it is complete, with all its fields. With `stream` true the answer " +
    "is a server-sent event stream that ends with `transcript.text.done`; an error after its start is an event with " +
    "`error`. Silence is filled with comment lines. No server takes a limit of its transcript: a key that has tokens " +
    "left may have one that is longer.",
  security: KEY_SECURITY,
  request: {
    body: {
      required: true,
      content: { "multipart/form-data": { schema: transcriptionRequestSchema } },
    },
  },
  responses: {
    200: {
      description: "The transcript in the format asked for, or its stream when `stream` is true.",
      content: {
        "application/json": {
          schema: transcriptionSchema,
          example: { text: "Hello there.", usage: { type: "duration", seconds: 2 } },
        },
        "text/plain": { schema: { type: "string", description: "With text, srt and vtt." } },
        "text/event-stream": { schema: transcriptEventSchema },
      },
    },
    ...AUDIO_ERRORS,
    415: refusal("The body is no multipart form with a boundary."),
  },
};

/** `POST /v1/audio/transcriptions`. */
export function transcriptionsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const limits = {
    maxBytes: deps.settings.GATEWAY_MAX_AUDIO_BYTES,
    setting: "GATEWAY_MAX_AUDIO_BYTES",
  };
  router.add(createTranscription, async (context, caller) => {
    const { raw } = context.req;
    const boundary = formBoundary(raw.headers);
    const open = openQuietCall(deps, context);
    let body: BodyStream | undefined;
    try {
      const channel = "audio" as const;
      await judgeEarly(deps, context, { caller, channel });
      // A recording is long, so a call that the key cannot make is refused before the recording is read.
      refuseBoundKey(caller);
      const { signal } = open;
      const hold = (bytes: number) => open.holdBody(bytes, "recording");
      body = readBodyStream(raw, { ...limits, signal, hold }, () => open.abort());
      const request = parseTranscriptionForm(await readForm(body, boundary));
      const { requestId, arrivedAt: startedAt, line: observer, trace } = context.env;
      const call = { requestId, caller, channel, startedAt, signal, observer, trace };
      const reply = await transcribe(deps.gateway, call, request);
      const limitHeaders = reply.limits && chatErrorForm.sayLimits(reply.limits, deps.clock.now());
      if (reply.kind === "stream") {
        // A stream outlives its request: once the server has the recording, it need not be held until the end of the
        // stream.
        const release = () => open.releaseBody();
        reply.events.then(release, release);
        const stream = await streamTranscript(deps, context, open, reply.events);
        return new Response(stream, { headers: { ...EVENT_STREAM_HEADERS, ...limitHeaders } });
      }
      open.close();
      const { body: text, contentType } = reply.answer;
      return new Response(text, { headers: { "content-type": contentType, ...limitHeaders } });
    } catch (thrown) {
      open.close();
      const response = router.refuse(thrown, context);
      // The rest of a body that was refused unread must not be parsed as the next request.
      if (body?.isRead() !== true) response.headers.set("connection", "close");
      return response;
    }
  });
  return router;
}

async function streamTranscript(
  { settings, log }: Deps,
  { env }: RequestContext,
  open: OpenCall,
  events: Promise<ChatEvents>,
): Promise<ReadableStream<Uint8Array>> {
  open.beginStream();
  return writeEventStream({
    events,
    createEncoder: () => createTranscriptEncoder(encodeError),
    keepalive: ": keepalive\n\n",
    abort: (reason) => open.abort(reason),
    report(error) {
      env.line.error = error;
      // An error that follows from the client's disconnect is not a failure.
      if (!open.signal.aborted) logInternalError(log, error, env.requestId);
    },
    onEnd: () => open.close(),
    keepaliveMs: settings.STREAM_KEEPALIVE_MS,
    slowClientMs: settings.SLOW_CLIENT_TIMEOUT_MS,
  });
}
