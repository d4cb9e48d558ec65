import type { ClientCodec } from "../codecs/codec.ts";
import type { ChatEvent, ChatEvents } from "../core/chat-event.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { ContextOverflow } from "../core/context-overflow.ts";
import type { Backend, CallOptions, Model } from "./backend.ts";
import { callUpstream, type UpstreamResponse } from "./call-upstream.ts";
import { concealError } from "./conceal.ts";
import { applyEffortRule, type EffortRule } from "./effort-rule.ts";
import { fitAfterOverflow } from "./fit-after-overflow.ts";
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
interface Omission {
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

const NO_OMISSIONS: ReadonlySet<Omission> = new Set();

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const ERROR_BODY_TIMEOUT_MS = 5_000;

/** The one way in which every engine is talked to. */
export function createChat(engine: ChatEngine): Chat {
  // By model id; it holds no more ids than the engine lists.
  const refused = new Map<string, ReadonlySet<Omission>>();
  let listed = "";

  const omissionsFor = ({ id }: Model) => refused.get(id) ?? NO_OMISSIONS;
  const prepare = (request: ChatRequest, model: Model, omitted = omissionsFor(model)) => {
    let prepared = request;
    for (const omission of omitted) prepared = omission.leaveOut(prepared);
    prepared = applyParameterRules(prepared, model, engine.parameters);
    return applyEffortRule(prepared, model, engine.effort);
  };

  /** Only what helped is remembered: a refusal may quote a client, who must not decide for all others. */
  const remember = (model: Model, found: readonly Omission[]) => {
    if (found.length > 0) refused.set(model.id, new Set([...omissionsFor(model), ...found]));
  };

  const run = async (request: ChatRequest, model: Model, { signal }: CallOptions) => {
    let current = request;
    let omitted = omissionsFor(model);
    const found: Omission[] = [];
    // Each omission helps once and so does fitting; an engine that refuses whatever it gets ends the loop.
    for (let correctionsLeft = engine.omissions.length + 2; ; correctionsLeft--) {
      const response = await send(engine, prepare(current, model, omitted), { model, signal });
      if (isSuccess(response)) {
        remember(model, found);
        return readAnswer(engine, response, request.stream);
      }
      const refusal = await readRefusal(engine, response);
      signal.throwIfAborted();
      const omission = correctionsLeft > 0 ? findOmission(engine, refusal, omitted) : undefined;
      if (omission === undefined) current = fitToRefusal(engine, current, model, refusal);
      else {
        found.push(omission);
        omitted = new Set([...omitted, omission]);
      }
    }
  };

  const noteModels = (models: readonly Model[]) => {
    const now = JSON.stringify(models);
    if (now !== listed) refused.clear();
    listed = now;
  };

  return { run, prepare, noteModels };
}

/** What to leave out after this refusal that was not left out before. */
function findOmission(
  { omissions }: ChatEngine,
  { status, message }: UpstreamRefusal,
  omitted: ReadonlySet<Omission>,
): Omission | undefined {
  if (status !== 400 || message === undefined) return undefined;
  return omissions.find((omission) => !omitted.has(omission) && omission.isCause(message));
}

/** The request cut to what the engine says fits. Throws the refusal when it is about something else. */
function fitToRefusal(
  { readOverflow, upstream }: ChatEngine,
  request: ChatRequest,
  model: Model,
  refusal: UpstreamRefusal,
): ChatRequest {
  const { status, message } = refusal;
  const overflow = status === 400 && message !== undefined ? readOverflow(message) : undefined;
  if (overflow === undefined) throw concealError(refusalError(refusal), upstream);
  return fitAfterOverflow(request, model, overflow);
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
    throwIfFailed(batch, upstream);
    return onlyBatch(batch);
  }
  const events = new UpstreamEvents(response, {
    reader: codec.streamReader(upstream.limits.maxEventBytes),
    upstream,
  });
  throwIfFailed(await events.peek(), upstream);
  return events;
}

/** An answer that fails before it has said anything is no answer: the status is still free to say so. */
function throwIfFailed(batch: Batch, upstream: Upstream): void {
  const first = batch.find((event) => event.type !== "start");
  if (first?.type === "error") throw concealError(first.error, upstream);
}

async function* onlyBatch(batch: Batch): AsyncGenerator<Batch> {
  yield batch;
}

async function readRefusal(
  { codec }: ChatEngine,
  response: UpstreamResponse,
): Promise<UpstreamRefusal> {
  return {
    status: response.status,
    message: codec.readErrorMessage(await readErrorBody(response)),
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
