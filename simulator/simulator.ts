import { type Call, sendJson } from "./call.ts";
import { controlRoutes } from "./control.ts";
import type { Engine } from "./engine.ts";
import { EngineError } from "./engine-error.ts";
import { engines } from "./engines.ts";
import type { Exchange } from "./http/exchange.ts";
import { listenHttp } from "./http/listen-http.ts";
import { headerOf } from "./http/request-reader.ts";
import { type Json, objectOf, parseJson } from "./json.ts";
import { Ledger, type LedgerEntry } from "./ledger.ts";
import type { SimulatorOptions } from "./options.ts";
import { PrefixCache } from "./prefix-cache.ts";
import { type Script, ScriptQueue } from "./script.ts";
import type { World } from "./world.ts";

export interface Simulator {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** Queues the answers to the next matching requests. */
  readonly script: (...scripts: readonly Script[]) => void;
  /** Returns every request so far, in order; entries change while their answer is in progress. */
  readonly ledger: () => readonly LedgerEntry[];
  /** Clears scripts, ledger and cached prompts. */
  readonly reset: () => void;
  readonly openSockets: () => number;
  readonly stop: () => Promise<void>;
}

/** Starts an engine without a model, which serves the formats of vLLM, Ollama or a cloud on loopback. */
export async function startSimulator(wanted: Partial<SimulatorOptions>): Promise<Simulator> {
  const engine: Engine = engines[wanted.engine ?? "both"];
  const options: SimulatorOptions = {
    port: 0,
    engine: "both",
    seed: "0",
    models: engine.models,
    latencyMs: 0,
    tokensPerSecond: 0,
    legacy: false,
    reasoningParser: true,
    promptTokensDetails: false,
    apiKey: undefined,
    uniqueUsage: false,
    ...wanted,
  };
  const ledger = new Ledger();
  const scripts = new ScriptQueue();
  const prefixCache = new PrefixCache();
  const world: World = {
    options,
    ledger,
    scripts,
    prefixCache,
    engine,
    openSockets: () => 0,
  };
  const listener = await listenHttp(options.port, (exchange) => answer(exchange, world));
  const { openSockets, port, stop } = listener;
  world.openSockets = openSockets;
  const reset = () => {
    ledger.clear();
    scripts.clear();
    prefixCache.clear();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    script: (...added) => scripts.add(added),
    ledger: () => ledger.entries,
    reset,
    openSockets,
    stop,
  };
}

async function answer(exchange: Exchange, world: World): Promise<void> {
  const { request } = exchange;
  const control = controlRoutes[`${request.method} ${request.path}`];
  if (control) return control(exchange, world);
  const entry = world.ledger.open(request);
  exchange.onGone = () => world.ledger.close(entry, "client-left");
  const body = readJson(exchange);
  entry.model = world.engine.modelOf(request.path, body);
  const script = world.scripts.take(request, entry.model);
  const call: Call = {
    exchange,
    entry,
    body: body ?? {},
    script,
    options: world.options,
    prefixCache: world.prefixCache,
    headers: world.engine.headers(entry),
  };
  try {
    await dispatch(call, world, body !== undefined);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    if (script) world.scripts.giveBack(script);
    await sendJson(call, error.status, error.body);
  } finally {
    entry.status = exchange.status;
    world.ledger.close(entry, exchange.gone ? "client-left" : "complete");
  }
}

/** Returns the JSON body; empty when there is none, undefined when it is invalid. */
function readJson({ request }: Exchange): Json | undefined {
  const isForm = /^multipart\//i.test(headerOf(request, "content-type") ?? "");
  if (request.body.length === 0 || isForm) return {};
  return objectOf(parseJson(request.body.toString("utf8")));
}

async function dispatch(call: Call, { engine }: World, isReadable: boolean) {
  const { entry, exchange, script } = call;
  const { request } = exchange;
  const handler = engine.find(request.method, request.path);
  if (script?.respond) return respond(call, script.respond);
  if (!handler) throw engine.notFound(request, entry);
  engine.checkKey(call);
  engine.checkHeaders(call);
  if (!isReadable) throw engine.unreadable(request, entry);
  await handler(call);
}

async function respond(
  { exchange, headers: usual, options, script }: Call,
  { status, headers, body = "" }: NonNullable<Script["respond"]>,
): Promise<void> {
  await exchange.sleep(script?.latencyMs ?? options.latencyMs);
  exchange.segments = script?.segments;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  await exchange.send(status, text, { "content-type": "application/json", ...usual, ...headers });
}
