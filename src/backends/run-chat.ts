import type { ClientCodec } from "../codecs/codec.ts";
import type { ChatEvent, ChatEvents } from "../core/chat-event.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { Backend, CallOptions, Model } from "./backend.ts";
import { callUpstream, type UpstreamResponse } from "./call-upstream.ts";
import { conceal } from "./conceal.ts";
import { applyEffortRule, type EffortRule } from "./effort-rule.ts";
import { type ContextOverflow, fitAfterOverflow } from "./fit-after-overflow.ts";
import { applyParameterRules, type ParameterTable } from "./parameter-rules.ts";
import type { Upstream } from "./upstream.ts";
import { UpstreamEvents } from "./upstream-events.ts";
import { refusalError, type UpstreamRefusal } from "./upstream-refusal.ts";

/** A kind of server, as data. */
export interface ChatEngine {
  readonly upstream: Upstream;
  /** Where chat calls go, from the address on. */
  readonly path: string;
  readonly codec: ClientCodec;
  readonly parameters: ParameterTable;
  readonly effort: EffortRule;
  readonly omissions: readonly Omission[];
  /** How far a prompt is too long, read from a refusal; undefined when the refusal is about something else. */
  readonly readOverflow: (message: string) => ContextOverflow | undefined;
}

/** Something that some models refuse and that a call can do without: it is left out, and the call made again. */
export interface Omission {
  readonly isCause: (message: string) => boolean;
  readonly leaveOut: (request: ChatRequest) => ChatRequest;
}

export interface Chat {
  readonly run: Backend["chat"];
  /** The request as it will be sent, before it is written in the engine's format. */
  readonly prepare: (request: ChatRequest, model: Model) => ChatRequest;
  /** What the engine has now. When that changes, what models have refused is forgotten. */
  readonly noteModels: (models: readonly Model[]) => void;
}

type Batch = readonly ChatEvent[];

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const ERROR_BODY_TIMEOUT_MS = 5_000;

/** The one way in which every engine is talked to. */
export function createChat(engine: ChatEngine): Chat {
  // By model id; it holds no more ids than the engine lists.
  const refused = new Map<string, ReadonlySet<Omission>>();
  let listed = "";

  const prepare = (request: ChatRequest, model: Model) => {
    let prepared = request;
    for (const omission of refused.get(model.id) ?? []) prepared = omission.leaveOut(prepared);
    prepared = applyParameterRules(prepared, model, engine.parameters);
    return applyEffortRule(prepared, model, engine.effort);
  };

  /** The request changed so that the engine may take it; throws when there is no such way. */
  const correct = (request: ChatRequest, model: Model, refusal: UpstreamRefusal): ChatRequest => {
    const { status, message } = refusal;
    if (status !== 400 || message === undefined) throw refusalError(refusal);
    const known = refused.get(model.id) ?? new Set();
    const omission = engine.omissions.find((one) => !known.has(one) && one.isCause(message));
    if (omission !== undefined) {
      refused.set(model.id, new Set([...known, omission]));
      return request;
    }
    const overflow = engine.readOverflow(message);
    if (overflow === undefined) throw refusalError(refusal);
    return fitAfterOverflow(request, model, overflow);
  };

  const run = async (request: ChatRequest, model: Model, { signal }: CallOptions) => {
    let current = request;
    // Each omission helps once and so does fitting; an engine that refuses whatever it gets ends the loop.
    for (let correctionsLeft = engine.omissions.length + 2; ; correctionsLeft--) {
      const response = await send(engine, prepare(current, model), { model, signal });
      if (isSuccess(response)) return readAnswer(engine, response, request.stream);
      const refusal = await readRefusal(engine, response);
      signal.throwIfAborted();
      if (correctionsLeft <= 0) throw refusalError(refusal);
      current = correct(current, model, refusal);
    }
  };

  const noteModels = (models: readonly Model[]) => {
    const now = JSON.stringify(models);
    if (now !== listed) refused.clear();
    listed = now;
  };

  return { run, prepare, noteModels };
}

function send(
  { upstream, path, codec }: ChatEngine,
  request: ChatRequest,
  { model, signal }: { readonly model: Model; readonly signal: AbortSignal },
): Promise<UpstreamResponse> {
  const body = codec.build(request, { name: model.id, contextLength: model.contextLength });
  return callUpstream(upstream, { path, body, stream: request.stream, signal });
}

function isSuccess({ status }: UpstreamResponse): boolean {
  return status >= 200 && status < 300;
}

async function readAnswer(
  { codec, upstream }: ChatEngine,
  response: UpstreamResponse,
  stream: boolean,
): Promise<ChatEvents> {
  if (!stream) {
    const batch = codec.readAnswer(await response.text(MAX_ANSWER_BYTES));
    throwIfFailed(batch);
    return onlyBatch(batch);
  }
  const events = new UpstreamEvents(response, codec.streamReader(upstream.limits.maxEventBytes));
  throwIfFailed(await events.peek());
  return events;
}

/** An answer that fails before it has said anything is no answer: the status is still free to say so. */
function throwIfFailed(batch: Batch): void {
  const first = batch.find((event) => event.type !== "start");
  if (first?.type === "error") throw first.error;
}

async function* onlyBatch(batch: Batch): AsyncGenerator<Batch> {
  yield batch;
}

async function readRefusal(
  { codec, upstream }: ChatEngine,
  response: UpstreamResponse,
): Promise<UpstreamRefusal> {
  const message = codec.readErrorMessage(await readErrorBody(response));
  return {
    status: response.status,
    message: message === undefined ? undefined : conceal(message, upstream),
    retryAfterSeconds: response.retryAfterSeconds,
  };
}

/** The body of an error, empty when it is too large, too slow or broken: the status says enough. */
async function readErrorBody(response: UpstreamResponse): Promise<string> {
  const timer = setTimeout(response.cancel, ERROR_BODY_TIMEOUT_MS);
  try {
    return await response.text(MAX_ERROR_BYTES);
  } catch {
    return "";
  } finally {
    clearTimeout(timer);
  }
}
