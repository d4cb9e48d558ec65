import type { ClientCodec } from "../codecs/codec.ts";
import type { ChatRequest } from "../core/chat/chat-request.ts";
import type { ContextOverflow } from "../core/context-overflow.ts";
import type { Backend, CallContext, CallOptions, Model } from "./backend.ts";
import { readChatAnswer } from "./read-chat-answer.ts";
import type { ReplayMemory } from "./replay/replay-memory.ts";
import { routeKey } from "./replicas/route-key.ts";
import type { Concession } from "./rules/concessions.ts";
import { decideEffort, type EffortRule, followsEffort, sayEffort } from "./rules/effort-rule.ts";
import { fitAfterOverflow, holdReservation, withMaxOutputTokens } from "./rules/fit-output.ts";
import { findIgnored } from "./rules/ignored-parameters.ts";
import { withoutNativeTools } from "./rules/native-tools.ts";
import {
  applyParameterRules,
  applyToolRule,
  type ParameterTable,
} from "./rules/parameter-rules.ts";
import { callUpstream, type UpstreamCall } from "./upstream/call-upstream.ts";
import { concealError } from "./upstream/conceal.ts";
import { isWholeAnswer, type RefusalReader, readRefusal } from "./upstream/read-refusal.ts";
import type { Upstream } from "./upstream/upstream.ts";
import { refusalError, type UpstreamRefusal } from "./upstream/upstream-refusal.ts";
import type { UpstreamResponse } from "./upstream/upstream-response.ts";

/** A kind of server, as data. */
export interface ChatEngine {
  readonly upstream: Upstream;
  /** The path of chat calls, relative to the address. */
  readonly path: (model: Model, stream: boolean) => string;
  readonly codec: ClientCodec;
  readonly parameters: ParameterTable;
  /** Returns the row of the effort table for a model. */
  readonly effort: (model: Model) => EffortRule;
  readonly concessions: readonly Concession[];
  /** Reads from a refusal how far a prompt is too long; undefined for any other refusal. */
  readonly readOverflow: (message: string) => ContextOverflow | undefined;
  /** Reads a model's output limit from the refusal of a longer one. */
  readonly readOutputLimit?: (message: string) => number | undefined;
  readonly readRefusalBody?: RefusalReader["readRefusalBody"];
  /** Applies what a vendor's models need in addition to the tables. */
  readonly adapt?: (request: ChatRequest, model: Model) => ChatRequest;
  /** Restores data that the vendor requires back and clients do not carry. */
  readonly memory?: ReplayMemory;
  /** Its models know the tools of `ToolDefinition.native`. */
  readonly takesNativeTools?: true;
  /** Returns headers that a request needs beside those of all requests. */
  readonly headers?: (request: ChatRequest) => UpstreamCall["headers"];
  /** The vendor seals texts too, not only calls and reasoning. */
  readonly sealsTexts?: true;
}

export interface Chat {
  readonly run: Backend["chat"];
  /** Returns the request as it will be sent, before it is written in the engine's format. */
  readonly prepare: (request: ChatRequest, model: Model, options: CallOptions) => ChatRequest;
  /** Receives the engine's current models. When they change, remembered refusals are dropped. */
  readonly noteModels: (models: readonly Model[]) => void;
}

const NO_CONCESSIONS: ReadonlySet<Concession> = new Set();

/** Creates the chat call that all engines share. */
export function createChat(engine: ChatEngine): Chat {
  // Keyed by model id, so it has at most as many entries as the engine has models.
  const refused = new Map<string, ReadonlySet<Concession>>();
  let listed = "";

  const concessionsFor = ({ id }: Model) => refused.get(id) ?? NO_CONCESSIONS;
  const prepare: Chat["prepare"] = (request, model, { passthrough, hasOwnTools }) => {
    const conceded = concessionsFor(model);
    return applyTables(engine, request, { model, passthrough, hasOwnTools, conceded }).request;
  };

  /** Only concessions that helped are remembered: a refusal may quote a client, who must not decide for all others. */
  const remember = (model: Model, conceded: readonly Concession[]) => {
    const found = conceded.filter(({ isOfThisCall }) => isOfThisCall !== true);
    if (found.length > 0) refused.set(model.id, new Set([...concessionsFor(model), ...found]));
  };

  const run: Backend["chat"] = async (request, model, options) => {
    const { signal, trace, passthrough, hasOwnTools } = options;
    let current = engine.memory?.restore(request, engine.sealsTexts) ?? request;
    let conceded = concessionsFor(model);
    const found: Concession[] = [];
    // Each concession can help once, and so can fitting. The limit ends the loop for an engine that refuses everything.
    for (let correctionsLeft = engine.concessions.length + 2; ; correctionsLeft--) {
      const prepared = applyTables(engine, current, { model, passthrough, hasOwnTools, conceded });
      const codec = codecFor(engine, conceded);
      reportIgnored(request, prepared, { options, codec, table: engine.parameters });
      const response = await send(engine, prepared.request, { model, signal, trace, codec });
      if (isWholeAnswer(response)) {
        remember(model, found);
        const events = await readChatAnswer(engine, response, request.stream);
        return engine.memory?.remember(events, engine.sealsTexts && request) ?? events;
      }
      const { readErrorMessage } = engine.codec;
      const { readRefusalBody } = engine;
      const refusal = await readRefusal(response, { readErrorMessage, readRefusalBody });
      signal.throwIfAborted();
      if (correctionsLeft === 0) throw concealError(refusalError(refusal), engine.upstream);
      const concession = findConcession(engine, refusal, conceded);
      if (concession === undefined) current = fitToRefusal(engine, current, model, refusal);
      else {
        found.push(concession);
        conceded = new Set([...conceded, concession]);
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

interface Prepared {
  readonly request: ChatRequest;
  /** True when the effort sent to the model is the one the client asked for. */
  readonly followsEffort: boolean;
}

/** Applies the engine's tables to the request. */
function applyTables(
  engine: ChatEngine,
  request: ChatRequest,
  { model, passthrough = false, hasOwnTools, conceded }: TableOptions,
): Prepared {
  const table = engine.parameters;
  let prepared = request;
  for (const concession of conceded) prepared = concession.concede(prepared);
  if (engine.takesNativeTools !== true) prepared = withoutNativeTools(prepared);
  prepared = applyToolRule(prepared, model, { table, passthrough, hasOwnTools });
  if (engine.adapt !== undefined) prepared = engine.adapt(prepared, model);
  prepared = holdReservation(prepared);
  const rule = engine.effort(model);
  // Whether a model thinks decides which other parameters it gets.
  const setting = decideEffort(prepared, model, rule);
  const isTold = setting !== "default" && setting !== "off";
  const thinks = isTold && prepared.leavesThinking !== true;
  const parameters = applyParameterRules({ request: prepared, model, thinks }, table);
  const said = sayEffort({ ...prepared, parameters }, model, { setting, rule });
  const isSaid = said.parameters !== parameters;
  return {
    request: said,
    followsEffort: followsEffort(request.effort, model, { setting, rule, isSaid }),
  };
}

interface Reporting {
  readonly options: CallOptions;
  readonly codec: ClientCodec;
  readonly table: ParameterTable;
}

/** Reports requested parameters that are not sent: removed by the tables, or not part of the engine's format. */
function reportIgnored(asked: ChatRequest, prepared: Prepared, how: Reporting): void {
  const { options, codec, table } = how;
  const ignored = findIgnored(asked, prepared.request, table);
  if (!prepared.followsEffort) ignored.push("reasoning_effort");
  ignored.push(...(codec.unsaid?.(prepared.request) ?? []));
  if (ignored.length > 0) options.onIgnored?.(ignored);
}

/** Returns the codec for a model, which a concession may have replaced. */
function codecFor({ codec }: ChatEngine, conceded: ReadonlySet<Concession>): ClientCodec {
  for (const concession of conceded) if (concession.codec !== undefined) return concession.codec;
  return codec;
}

interface TableOptions {
  readonly model: Model;
  readonly passthrough: boolean | undefined;
  readonly hasOwnTools: CallOptions["hasOwnTools"];
  readonly conceded: ReadonlySet<Concession>;
}

/** Returns the concession that this refusal calls for, if it was not made before. */
function findConcession(
  { concessions }: ChatEngine,
  { status, message }: UpstreamRefusal,
  conceded: ReadonlySet<Concession>,
): Concession | undefined {
  if ((status !== 400 && status !== 422) || message === undefined) return undefined;
  return concessions.find((concession) => !conceded.has(concession) && concession.isCause(message));
}

/** Limits the request to what fits by the engine's own report. Throws the refusal when it is about something else. */
function fitToRefusal(
  { readOverflow, readOutputLimit, upstream }: ChatEngine,
  request: ChatRequest,
  model: Model,
  refusal: UpstreamRefusal,
): ChatRequest {
  const { status, message } = refusal;
  if (status === 400 && message !== undefined) {
    const limit = readOutputLimit?.(message);
    if (limit !== undefined && limit < (request.parameters.maxOutputTokens ?? 0)) {
      return withMaxOutputTokens(request, limit);
    }
    const overflow = refusal.overflow ?? readOverflow(message);
    if (overflow !== undefined) return fitAfterOverflow(request, model, overflow);
  }
  throw concealError(refusalError(refusal), upstream);
}

function send(
  { upstream, path, headers }: ChatEngine,
  request: ChatRequest,
  { model, signal, trace, codec }: SendOptions,
): Promise<UpstreamResponse> {
  const { id: name, contextLength, midSystem } = model;
  const body = codec.build(request, { name, contextLength, midSystem });
  const { stream } = request;
  const route = upstream.replicas && { key: routeKey(request), model: model.id };
  return callUpstream(upstream, {
    ...{ path: path(model, stream), headers: headers?.(request), body },
    ...{ stream, signal, trace, route },
  });
}

interface SendOptions extends CallContext {
  readonly model: Model;
  readonly codec: ClientCodec;
}
