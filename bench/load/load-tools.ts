import { execFile, execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const source = fileURLToPath(new URL(".", import.meta.url));
const binaries = join(source, "../bin");
/** The families whose streams are measured: their path, their required fields, and the end of their streams. */
const FAMILIES = {
  chat: { path: "/v1/chat/completions", body: {}, end: "data: [DONE]" },
  messages: { path: "/v1/messages", body: { max_tokens: 8_192 }, end: "event: message_stop" },
} as const;
export type Family = keyof typeof FAMILIES;

/** After the end of a run a tool waits at most 60 s for open answers. */
const OVERTIME_MS = 70_000;

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Answers without streaming. `refused`: a status other than 200; `broken`: a lost connection. */
export interface RequestLoad {
  readonly sent: number;
  readonly answered: number;
  readonly refused: number;
  readonly broken: number;
  readonly unfinished: number;
  readonly requestsPerS: number;
  readonly latencyMs: Percentiles;
}

/** Streams. `broken`: a token is missing, or there is no clean end. */
export interface StreamLoad {
  readonly started: number;
  readonly done: number;
  readonly broken: number;
  readonly refused: number;
  readonly unfinished: number;
  readonly streamsPerS: number;
  readonly tokensPerS: number;
  readonly firstMs: Percentiles;
  readonly gapMs: Percentiles;
}

export interface Address {
  readonly port: number;
  /** Bearer token; the upstream and the bare proxy accept any. */
  readonly key: string;
}

/** Compiles the model server and the load clients; needs a C compiler. Returns the model server's path. */
export function buildTools(): string {
  mkdirSync(binaries, { recursive: true });
  for (const name of ["upstream", "requestload", "streamload"]) {
    execFileSync("cc", ["-O2", "-o", join(binaries, name), join(source, `${name}.c`)]);
  }
  return join(binaries, "upstream");
}

/** Sends requests. With `ratePerS` 0 each connection sends its next request as soon as it has its answer. */
export function loadRequests(
  address: Address,
  load: { readonly connections: number; readonly seconds: number; readonly ratePerS: number },
): Promise<RequestLoad> {
  const body = { model: "bench", messages: [{ role: "user", content: "Say hello." }] };
  const numbers = [load.connections, load.seconds, load.ratePerS];
  return runTool("requestload", address, load.seconds, [
    FAMILIES.chat.path,
    ...numbers,
    JSON.stringify(body),
  ]);
}

/** Requests streams of `tokens` tokens, one per `intervalMs`; 0 sends a stream in one burst. */
export function loadStreams(
  address: Address,
  load: {
    readonly streams: number;
    readonly seconds: number;
    readonly tokens: number;
    readonly intervalMs: number;
    readonly family?: Family;
    /** How fast the first streams begin: 10,000 a second, about all at once, where it is not said. */
    readonly startsPerS?: number;
  },
): Promise<StreamLoad> {
  const family = FAMILIES[load.family ?? "chat"];
  // The model server reads its pace from the prompt.
  const content = `Say hello. @@${load.tokens},${load.intervalMs}`;
  const messages = [{ role: "user", content }];
  const body = { ...family.body, model: "bench", stream: true, messages };
  const numbers = [load.streams, load.seconds, load.tokens];
  return runTool("streamload", address, load.seconds, [
    family.path,
    ...numbers,
    family.end,
    load.startsPerS ?? 10_000,
    JSON.stringify(body),
  ]);
}

async function runTool<T>(
  tool: string,
  { port, key }: Address,
  seconds: number,
  args: readonly (string | number)[],
): Promise<T> {
  const words = [port, ...args, `Authorization: Bearer ${key}`].map(String);
  const timeout = seconds * 1_000 + OVERTIME_MS;
  const { stdout } = await promisify(execFile)(join(binaries, tool), words, { timeout });
  return JSON.parse(stdout);
}
