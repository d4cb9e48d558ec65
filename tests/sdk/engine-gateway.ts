import OpenAI from "openai";
import type { LedgerEntry } from "../../simulator/ledger.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";

export const ENGINES = ["vllm", "ollama"] as const;
export type Engine = (typeof ENGINES)[number];

export type Body = Readonly<Record<string, unknown>>;

/** The real server before a simulated engine of one kind, and the official client before the server. */
export interface EngineGateway {
  readonly engine: Engine;
  readonly simulator: TestSimulator;
  readonly gateway: TestGateway;
  /** It does not retry: a refused call is seen as it is. */
  readonly openai: OpenAI;
  /** The id of a simulated model as this engine lists it. */
  readonly modelId: (name: string) => string;
  /** The bodies of the chat calls that reached the engine since its last reset. */
  readonly asked: () => Body[];
  /** The only one of them. Throws unless there is exactly one. */
  readonly askedOnce: () => Body;
  /** The chat calls that reached the engine. */
  readonly calls: () => readonly LedgerEntry[];
  /** A chat call as plain as it can be: any body at all, past the types of the client. */
  readonly post: (body: unknown, headers?: Record<string, string>) => Promise<Response>;
  readonly close: () => Promise<void>;
}

const CHAT_PATHS: ReadonlySet<string> = new Set(["/v1/chat/completions", "/api/chat"]);

export async function openEngineGateway(
  engine: Engine,
  settings: Record<string, string> = {},
): Promise<EngineGateway> {
  const simulator = await startSimulator({ engine });
  const gateway = await startGateway({
    LLM_BACKEND: engine,
    LLM_BASE_URL: simulator.url,
    ...settings,
  });
  const calls = () =>
    simulator.ledger().filter(({ method, path }) => method === "POST" && CHAT_PATHS.has(path));
  const asked = () => calls().map(({ body }) => JSON.parse(body ?? "null") as Body);
  return {
    engine,
    simulator,
    gateway,
    openai: new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: TEST_KEY, maxRetries: 0 }),
    modelId: (name) => (engine === "ollama" ? `${name}:latest` : name),
    asked,
    askedOnce() {
      const [body, ...others] = asked();
      if (body === undefined || others.length > 0) {
        throw new Error(`the engine was asked ${asked().length} times`);
      }
      return body;
    },
    calls,
    post: (body, headers = {}) =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${TEST_KEY}`,
          "content-type": "application/json",
          ...headers,
        },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    async close() {
      await gateway.stop();
      await simulator.stop();
    },
  };
}

/** A question that the simulator answers by repeating the text. */
export function say(text: string): { role: "user"; content: string }[] {
  return [{ role: "user", content: `Say: ${text}` }];
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
