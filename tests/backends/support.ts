import { createServer, type Server, type Socket } from "node:net";
import type { Backend, Model } from "../../src/backends/backend.ts";
import type { Upstream, UpstreamLimits } from "../../src/backends/upstream/upstream.ts";
import { createOllama } from "../../src/backends/vendors/ollama.ts";
import { createVllm } from "../../src/backends/vendors/vllm.ts";
import type { ChatEvent, ChatEvents } from "../../src/core/chat/chat-event.ts";
import type { ChatRequest, GenerationParameters } from "../../src/core/chat/chat-request.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import { createHttpClient } from "../../src/lib/http/create-http-client.ts";
import { systemClock } from "../../src/lib/time/clock.ts";

/** A key that must never be seen by a client. */
export const ENGINE_KEY = "sk-canary-of-the-engine-0123456789";
/** A port that nobody listens on: the system gives no low ones away. */
export const CLOSED_PORT = 1;

const client = createHttpClient();

export function upstreamAt(address: string, limits: Partial<UpstreamLimits> = {}): Upstream {
  return {
    address,
    addressSetting: "LLM_BASE_URL",
    headers: { authorization: `Bearer ${ENGINE_KEY}` },
    secrets: [ENGINE_KEY],
    client,
    clock: systemClock,
    limits: {
      timeoutMs: 20_000,
      idleTimeoutMs: 20_000,
      retries: 0,
      maxEventBytes: 1_000_000,
      ...limits,
    },
  };
}

export interface Engine {
  readonly name: "vllm" | "ollama";
  readonly path: string;
  readonly create: (upstream: Upstream) => Backend;
}

export const ENGINES: readonly Engine[] = [
  { name: "vllm", path: "/v1/chat/completions", create: createVllm },
  { name: "ollama", path: "/api/chat", create: (upstream) => createOllama(upstream, 32_768) },
];

export const MODEL: Model = {
  id: "sim-chat",
  backend: "local",
  created: 0,
  ownedBy: "test",
  contextLength: 32_768,
  tools: true,
  vision: true,
  documents: false,
  audio: false,
  thinking: true,
};

export function chatRequest(
  fields: Partial<ChatRequest> = {},
  parameters: GenerationParameters = {},
): ChatRequest {
  return {
    model: "sim-chat",
    messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
    tools: [],
    stream: true,
    parameters: { maxOutputTokens: 64, ...parameters },
    ...fields,
  };
}

export function never(): AbortSignal {
  return new AbortController().signal;
}

export async function collect(events: ChatEvents | Promise<ChatEvents>): Promise<ChatEvent[]> {
  const all: ChatEvent[] = [];
  for await (const batch of await events) all.push(...batch);
  return all;
}

export function textOf(events: readonly ChatEvent[]): string {
  return events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
}

/** The error a promise rejects with; fails when it does not, or with another kind. */
export async function serviceErrorOf(promise: Promise<unknown>): Promise<ServiceError> {
  const outcome = await promise.then(
    () => "it succeeded",
    (thrown: unknown) => thrown,
  );
  if (outcome instanceof ServiceError) return outcome;
  throw new Error(`expected a ServiceError, but: ${String(outcome)}`);
}

export interface RawServer {
  readonly address: string;
  readonly connections: () => number;
  /** Resolves when every connection so far is closed. */
  readonly allClosed: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** A server that does with a connection whatever the test says. */
export async function startRawServer(serve: (socket: Socket) => void): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const closings: Promise<void>[] = [];
  const server: Server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    closings.push(new Promise((resolve) => socket.on("close", () => resolve())));
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("the server has no port");
  return {
    address: `http://127.0.0.1:${bound.port}`,
    connections: () => connections,
    allClosed: async () => void (await Promise.all(closings)),
    stop() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Calls `answer` once the whole head of a request is there. */
export function onRequest(socket: Socket, answer: () => void): void {
  let head = "";
  socket.on("data", (bytes) => {
    head += bytes.toString("latin1");
    if (!head.includes("\r\n\r\n")) return;
    head = "";
    answer();
  });
}
