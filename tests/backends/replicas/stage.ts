import type { Socket } from "node:net";
import { Writable } from "node:stream";
import type { LedgerEntry } from "../../../simulator/ledger.ts";
import { REPLICA_CHECKS } from "../../../src/backends/replicas/replica-checks.ts";
import {
  createReplicaClient,
  type ReplicaClient,
} from "../../../src/backends/replicas/replica-client.ts";
import { createHttpClient } from "../../../src/lib/http/create-http-client.ts";
import type { HttpRequest } from "../../../src/lib/http/http-client.ts";
import { createLog, type Log } from "../../../src/lib/log.ts";
import { ENGINE_KEY, never } from "../support.ts";

const POLL_MS = 5;
const PATIENCE_MS = 20_000;

const CHAT_PATH = "/v1/chat/completions";

export interface ReplicaStage {
  readonly client: ReplicaClient;
  /** The lines of its log so far. */
  readonly lines: () => readonly string[];
  /** A chat call as the backends send it: to the first address, with its route. */
  readonly chat: (more?: Partial<HttpRequest>) => HttpRequest;
}

/** A replica client before these addresses, as a gateway builds it for vLLM. */
export function stageReplicas(
  addresses: readonly string[],
  spillAbove = REPLICA_CHECKS.vllm.spillAbove,
): ReplicaStage {
  const [first, second, ...further] = addresses;
  if (first === undefined || second === undefined) throw new Error("a stage needs two addresses");
  const lines: string[] = [];
  const client = createReplicaClient({
    addresses: [first, second, ...further],
    client: createHttpClient(),
    headers: { authorization: `Bearer ${ENGINE_KEY}` },
    check: { ...REPLICA_CHECKS.vllm, spillAbove },
    log: logInto(lines),
  });
  return {
    client,
    lines: () => lines,
    chat: (more = {}) => ({
      url: first + CHAT_PATH,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "sim-chat", messages: [{ role: "user", content: "hello" }] }),
      signal: never(),
      route: { key: 1, model: "sim-chat" },
      ...more,
    }),
  };
}

function logInto(lines: string[]): Log {
  const write = (line: unknown, _encoding: unknown, done: () => void) => {
    lines.push(String(line));
    done();
  };
  return createLog("info", new Writable({ write }));
}

/** The chat calls that a simulator has seen; the looks at its health are left out. */
export function chatCalls(entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  return entries.filter(({ method }) => method === "POST");
}

/** Waits until it holds. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + PATIENCE_MS;
  while (!condition()) {
    if (Date.now() > giveUpAt) throw new Error(`not in ${PATIENCE_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** For a raw server: answers looks at its health, and does with the rest what the test says. */
export function exceptChecks(onCall: (socket: Socket) => void): (socket: Socket) => void {
  return (socket) => {
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      const isCheck = text.startsWith("GET ");
      text = "";
      if (isCheck) socket.write("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
      else onCall(socket);
    });
  };
}
