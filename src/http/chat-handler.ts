import type { AnswerContext, ParsedCall, ServerCodec } from "../codecs/codec.ts";
import type { Caller } from "../core/caller.ts";
import { foldEvents } from "../core/fold-events.ts";
import type { Deps } from "../deps.ts";
import { answerChat, type ChatReply } from "../gateway/answer-chat.ts";
import type { OpenCall } from "../gateway/open-calls.ts";
import type { Channel } from "../gateway/usage-record.ts";
import { EVENT_STREAM_HEADERS, writeEventStream } from "./answers/write-event-stream.ts";
import { type BodyLimits, readJsonBody } from "./bodies/read-json-body.ts";
import { logInternalError } from "./log-internal-error.ts";
import { openQuietCall } from "./open-quiet-call.ts";
import type { RequestLine } from "./request-line.ts";
import type { RequestContext } from "./router.ts";
import type { SayLimits } from "./say-limits.ts";

interface Answer<Form> {
  readonly codec: ServerCodec<Form>;
  readonly form: Form;
  readonly reply: ChatReply;
  readonly open: OpenCall;
  readonly line: RequestLine;
  readonly context: Omit<AnswerContext, "model">;
  /** That tell what is left of a key's limits. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How one chat family answers. */
interface Family<Form> {
  readonly codec: ServerCodec<Form>;
  readonly channel: Channel;
  readonly sayLimits: SayLimits;
}

/** The handler of one chat family: read, answer, encode. */
export function createChatHandler<Form>(deps: Deps, family: Family<Form>) {
  const { codec, channel, sayLimits } = family;
  const { settings } = deps;
  const limits = { maxBytes: settings.GATEWAY_MAX_BODY_BYTES, maxDepth: settings.MAX_JSON_DEPTH };

  return async (context: RequestContext, caller: Caller): Promise<Response> => {
    const { requestId, arrivedAt: startedAt, line: observer, trace } = context.env;
    // Before the body is read: it may come slowly, and a server that stops does not wait for it for ever.
    const open = openQuietCall(deps, context);
    const { signal } = open;
    try {
      const { request, form } = await readCall(codec, context.req.raw, { ...limits, signal });
      const call = { requestId, caller, channel, startedAt, signal, observer, trace };
      const reply = await answerChat(deps.gateway, call, request);
      const created = Math.floor(startedAt / 1000);
      const answer: Answer<Form> = {
        codec,
        form,
        reply,
        open,
        line: observer,
        headers: reply.limits === undefined ? {} : sayLimits(reply.limits, deps.clock.now()),
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
  return new Response(body, {
    headers: { "content-type": "application/json", ...answer.headers },
  });
}

async function answerStreaming<Form>(deps: Deps, answer: Answer<Form>): Promise<Response> {
  const { codec, form, reply, open, line, context } = answer;
  open.beginStream();
  const body = await writeEventStream({
    events: reply.events,
    // Which model answers is known with the first event.
    createEncoder: () => codec.streamEncoder({ ...context, model: reply.model() }, form),
    keepalive: codec.keepalive,
    abort: open.abort,
    report(error) {
      line.error = error;
      // What breaks because the client left is no failure.
      if (!open.signal.aborted) logInternalError(deps.log, error, context.requestId);
    },
    onEnd: open.close,
    keepaliveMs: deps.settings.STREAM_KEEPALIVE_MS,
    slowClientMs: deps.settings.SLOW_CLIENT_TIMEOUT_MS,
  });
  return new Response(body, { headers: { ...EVENT_STREAM_HEADERS, ...answer.headers } });
}
