import type { AnswerContext, ParsedCall, ServerCodec } from "../codecs/codec.ts";
import { foldEvents } from "../core/fold-events.ts";
import type { Deps } from "../deps.ts";
import { answerChat, type ChatReply } from "../gateway/answer-chat.ts";
import type { OpenCall } from "../gateway/open-calls.ts";
import type { Channel } from "../gateway/usage-record.ts";
import { isSettledWithin } from "./is-settled-within.ts";
import { logInternalError } from "./log-internal-error.ts";
import { openQuietCall } from "./open-quiet-call.ts";
import { type BodyLimits, readJsonBody } from "./read-json-body.ts";
import type { RequestContext } from "./router.ts";
import { writeEventStream } from "./write-event-stream.ts";

interface Answer<Form> {
  readonly codec: ServerCodec<Form>;
  readonly form: Form;
  readonly reply: ChatReply;
  readonly open: OpenCall;
  readonly context: Omit<AnswerContext, "model">;
}

/** The handler of one chat family: read, answer, encode. Families differ by their codec alone. */
export function createChatHandler<Form>(deps: Deps, codec: ServerCodec<Form>, channel: Channel) {
  const { settings } = deps;
  const limits = { maxBytes: settings.GATEWAY_MAX_BODY_BYTES, maxDepth: settings.MAX_JSON_DEPTH };

  return async (context: RequestContext): Promise<Response> => {
    const { requestId, arrivedAt } = context.env;
    const { raw } = context.req;
    const caller = deps.authenticate(raw.headers, arrivedAt);
    const { request, form } = await readCall(codec, raw, limits);
    const open = openQuietCall(deps, context);
    try {
      const call = { requestId, caller, channel, startedAt: arrivedAt, signal: open.signal };
      const reply = await answerChat(deps.gateway, call, request);
      const created = Math.floor(arrivedAt / 1000);
      const answer: Answer<Form> = {
        codec,
        form,
        reply,
        open,
        context: { requestId, created, now: () => Math.floor(deps.clock.now() / 1000) },
      };
      return request.stream ? await answerStreaming(deps, answer) : await answerWhole(answer);
    } catch (thrown) {
      open.close();
      throw thrown;
    }
  };
}

async function readCall<Form>(
  codec: ServerCodec<Form>,
  request: Request,
  limits: BodyLimits,
): Promise<ParsedCall<Form>> {
  const { body, text } = await readJsonBody(request, limits);
  return codec.parse(body, text);
}

async function answerWhole<Form>(answer: Answer<Form>): Promise<Response> {
  const { codec, form, reply, open } = answer;
  const whole = await foldEvents(await reply.events);
  const body = codec.encodeAnswer(whole, { ...answer.context, model: reply.model() }, form);
  open.close();
  return new Response(body, { headers: { "content-type": "application/json" } });
}

async function answerStreaming<Form>(deps: Deps, answer: Answer<Form>): Promise<Response> {
  const { codec, form, reply, open, context } = answer;
  const keepaliveMs = deps.settings.STREAM_KEEPALIVE_MS;
  // As long as the engine has said nothing the status is still free for an error. Past that the stream begins.
  const begun = await isSettledWithin(reply.events, keepaliveMs);
  const body = writeEventStream({
    events: reply.events,
    // Which model answers is known with the first event.
    createEncoder: () => codec.streamEncoder({ ...context, model: reply.model() }, form),
    keepalive: codec.keepalive,
    beginsSilent: !begun,
    abort: open.abort,
    report(error) {
      // What breaks because the client left is no failure.
      if (!open.signal.aborted) logInternalError(deps.log, error, context.requestId);
    },
    onEnd: open.close,
    keepaliveMs,
    slowClientMs: deps.settings.SLOW_CLIENT_TIMEOUT_MS,
  });
  return new Response(body, { headers: STREAM_HEADERS });
}

const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
};
