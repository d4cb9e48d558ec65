import type { AnswerContext, ServerCodec } from "../codecs/codec.ts";
import { foldEvents } from "../core/fold-events.ts";
import type { Deps } from "../deps.ts";
import { answerChat, type ChatReply } from "../gateway/answer-chat.ts";
import type { OpenCall } from "../gateway/open-calls.ts";
import type { Channel } from "../gateway/usage-record.ts";
import { isSettledWithin } from "./is-settled-within.ts";
import { logInternalError } from "./log-internal-error.ts";
import { readJsonBody } from "./read-json-body.ts";
import type { RequestContext } from "./router.ts";
import { writeEventStream } from "./write-event-stream.ts";

interface Answer {
  readonly codec: ServerCodec;
  readonly reply: ChatReply;
  readonly open: OpenCall;
  readonly context: AnswerContext;
}

/** The handler of one chat family: read, answer, encode. Families differ by their codec alone. */
export function createChatHandler(deps: Deps, codec: ServerCodec, channel: Channel) {
  const { settings } = deps;
  const limits = { maxBytes: settings.GATEWAY_MAX_BODY_BYTES, maxDepth: settings.MAX_JSON_DEPTH };

  return async (context: RequestContext): Promise<Response> => {
    const { requestId, arrivedAt, allowSilence } = context.env;
    const { raw } = context.req;
    const caller = deps.authenticate(raw.headers, arrivedAt);
    const request = codec.parse(await readJsonBody(raw, limits));
    const open = openQuietCall(deps, raw.signal, allowSilence());
    try {
      const call = { requestId, caller, channel, startedAt: arrivedAt, signal: open.signal };
      const reply = await answerChat(deps.gateway, call, request);
      const created = Math.floor(arrivedAt / 1000);
      const { includeUsage, stream } = request;
      const answer: Answer = {
        codec,
        reply,
        open,
        context: { requestId, model: reply.model, created, includeUsage },
      };
      return stream ? await answerStreaming(deps, answer) : await answerWhole(answer);
    } catch (thrown) {
      open.close();
      throw thrown;
    }
  };
}

/** An open call during which the connection may be silent. */
function openQuietCall(deps: Deps, clientSignal: AbortSignal, endSilence: () => void): OpenCall {
  const open = deps.openCalls.open(clientSignal);
  return {
    ...open,
    close() {
      open.close();
      endSilence();
    },
  };
}

async function answerWhole({ codec, reply, open, context }: Answer): Promise<Response> {
  const body = codec.encodeAnswer(await foldEvents(await reply.events), context);
  open.close();
  return new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
}

async function answerStreaming(deps: Deps, answer: Answer): Promise<Response> {
  const { codec, reply, open, context } = answer;
  const keepaliveMs = deps.settings.STREAM_KEEPALIVE_MS;
  // As long as the engine has said nothing the status is still free for an error. Past that the stream begins.
  const begun = await isSettledWithin(reply.events, keepaliveMs);
  const body = writeEventStream({
    events: reply.events,
    encoder: codec.streamEncoder(context),
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
