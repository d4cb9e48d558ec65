import type { AnswerContext, ServerCodec } from "../../codecs/codec.ts";
import { type ClientNames, nameIgnored } from "../../codecs/shared/client-names.ts";
import type { Caller } from "../../core/callers/caller.ts";
import type { Channel } from "../../core/channel.ts";
import { foldEvents } from "../../core/chat/fold-events.ts";
import type { Deps } from "../../deps.ts";
import { answerChat, type ChatReply } from "../../gateway/answer-chat.ts";
import type { AnswerMemory } from "../../gateway/answer-memory.ts";
import type { OpenCall } from "../../gateway/open-calls.ts";
import { EVENT_STREAM_HEADERS, writeEventStream } from "../answers/write-event-stream.ts";
import { readCallBody } from "../bodies/read-call-body.ts";
import { logInternalError } from "../request/log-internal-error.ts";
import { openQuietCall } from "../request/open-quiet-call.ts";
import type { RequestLine } from "../request/request-line.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { ignoredHeaders } from "./headers/ignored-headers.ts";

interface Answer<Form> {
  readonly codec: ServerCodec<Form>;
  readonly form: Form;
  readonly names: ClientNames;
  readonly reply: ChatReply;
  readonly open: OpenCall;
  readonly line: RequestLine;
  readonly context: Omit<AnswerContext, "model" | "ignored">;
  /** Headers that report the remaining limits of a key. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The parts in which one chat family differs from the others. */
interface Family<Form> {
  readonly codec: ServerCodec<Form>;
  readonly channel: Channel;
  /** The answers that requests of the family can refer to. */
  readonly memory?: AnswerMemory | undefined;
}

/** Creates the handler of one chat family: read, answer, encode. */
export function createChatHandler<Form>(deps: Deps, family: Family<Form>) {
  const { codec, channel, memory } = family;
  return async (context: RequestContext, caller: Caller): Promise<Response> => {
    const { errorForm, requestId, arrivedAt: startedAt, line, trace, address } = context.env;
    // The call is opened before the body is read: the body may arrive slowly, and a stopping server must not wait for
    // it forever.
    const open = openQuietCall(deps, context);
    const { signal } = open;
    try {
      // In one expression, so that no reference to the body outlives it.
      const { request, form, names } = await readCallBody(deps, context, {
        caller,
        channel,
        open,
      }).then(({ body, text }) => codec.parse(body, text, memory?.of(caller)));
      const reply = await answerChat(
        deps.gateway,
        {
          ...{ requestId, caller, channel, address, startedAt, signal, trace },
          observer: line,
          added: open,
        },
        request,
      );
      const created = Math.floor(startedAt / 1000);
      const answer: Answer<Form> = {
        codec,
        form,
        names,
        reply,
        open,
        line,
        headers:
          reply.limits === undefined ? {} : errorForm.sayLimits(reply.limits, deps.clock.now()),
        context: { requestId, created, now: () => Math.floor(deps.clock.now() / 1000) },
      };
      return request.stream ? await answerStreaming(deps, answer) : await answerWhole(answer);
    } catch (thrown) {
      open.close();
      throw thrown;
    }
  };
}

async function answerWhole<Form>(answer: Answer<Form>): Promise<Response> {
  const { codec, form, reply, open } = answer;
  const whole = await foldEvents(await reply.events);
  const context = contextOf(answer);
  const body = codec.encodeAnswer(whole, context, form);
  open.close();
  return new Response(body, {
    headers: {
      "content-type": "application/json",
      ...answer.headers,
      ...ignoredHeaders(context.ignored),
    },
  });
}

/** Returns the context of an encoder, with the ignored parameters of the model that answers. */
function contextOf<Form>({ context, reply, names }: Answer<Form>) {
  const ignored = nameIgnored(reply.ignored(), names);
  const model = reply.model();
  const answering = reply.answeringModel();
  const assistantModel = answering === model ? undefined : answering;
  return { ...context, model, assistantModel, ignored };
}

async function answerStreaming<Form>(deps: Deps, answer: Answer<Form>): Promise<Response> {
  const { codec, form, reply, open, line } = answer;
  open.beginStream();
  // A stream outlives its request: once the engine has the body, it need not be held until the end of the stream.
  const releaseBody = () => open.releaseBody();
  reply.events.then(releaseBody, releaseBody);
  const body = await writeEventStream({
    events: reply.events,
    // The model that answers is known with the first event.
    createEncoder: () => codec.streamEncoder(contextOf(answer), form),
    keepalive: codec.keepalive,
    abort: (reason) => open.abort(reason),
    report(error) {
      line.error = error;
      // An error that follows from the client's disconnect is not a failure.
      if (!open.signal.aborted) logInternalError(deps.log, error, answer.context.requestId);
    },
    onEnd: () => open.close(),
    keepaliveMs: deps.settings.STREAM_KEEPALIVE_MS,
    slowClientMs: deps.settings.SLOW_CLIENT_TIMEOUT_MS,
  });
  // After a long silence the model called so far may not be the one that answers; then the first event is right.
  const { ignored } = contextOf(answer);
  return new Response(body, {
    headers: { ...EVENT_STREAM_HEADERS, ...answer.headers, ...ignoredHeaders(ignored) },
  });
}
