import type { TestSimulator } from "../../servers/start-simulator.ts";
import { chatBody, openCall } from "../call-gateway.ts";

const MODEL = "sim-chat";
const TICK_MS = 10;
/** A stream of so many takes seconds: whoever leaves it early leaves it unfinished, however slow the machine is. */
const LONG_TOKENS = 2_000;
/** How long an answer's rest may take to come, or its connection to end. */
const REST_MS = 60_000;

/** One request of a load and what came back. */
export interface SentCall {
  id: string | undefined;
  /** True for an answer received to its last byte. */
  isComplete: boolean;
  /** The client itself goes away in the middle of the answer. */
  readonly leaves: boolean;
  status: number | undefined;
  promptTokens: number | undefined;
  readonly sentAt: number;
  /** From the request to the answer's head, in milliseconds. */
  headMs: number | undefined;
}

export interface SteadyLoadOptions {
  readonly port: number;
  readonly requestsPerSecond: number;
  /** Of ten calls so many are left in the middle by the client. */
  readonly leavesOfTen?: number;
}

export interface SteadyLoad {
  readonly sent: readonly SentCall[];
  /** Sends no more; resolves with all when every answer has come or ended. */
  readonly stop: () => Promise<readonly SentCall[]>;
}

/** Has the simulator answer the streams that a load leaves in the middle with something long. */
export function scriptLongStreams(simulator: TestSimulator): void {
  for (const limit of ["max_tokens", "num_predict"]) {
    simulator.script({
      match: { body: `"${limit}":${LONG_TOKENS}` },
      times: "always",
      text: "word ",
      repeat: LONG_TOKENS,
    });
  }
}

/** Streams, whole answers and streams that are left in the middle, at a steady rate, whatever becomes of them. */
export function startSteadyLoad(options: SteadyLoadOptions): SteadyLoad {
  const { port, requestsPerSecond, leavesOfTen = 1 } = options;
  const sent: SentCall[] = [];
  const running = new Set<Promise<void>>();
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) * requestsPerSecond) / 1_000;
    while (sent.length < due) {
      const index = sent.length;
      const one: SentCall = {
        id: undefined,
        isComplete: false,
        leaves: index % 10 >= 10 - leavesOfTen,
        status: undefined,
        promptTokens: undefined,
        sentAt: performance.now(),
        headMs: undefined,
      };
      sent.push(one);
      const call = sendOne(port, index % 2 === 1, one)
        .catch(() => undefined)
        .finally(() => running.delete(call));
      running.add(call);
    }
  }, TICK_MS);
  return {
    sent,
    async stop() {
      clearInterval(timer);
      await Promise.all(running);
      return sent;
    },
  };
}

async function sendOne(port: number, stream: boolean, sent: SentCall): Promise<void> {
  const isStream = stream || sent.leaves;
  const more = isStream ? { stream: true, stream_options: { include_usage: true } } : {};
  const max_tokens = sent.leaves ? LONG_TOKENS : 30;
  const client = await openCall(port, { body: chatBody(MODEL, { ...more, max_tokens }) });
  try {
    const head = await client.readUntil((received) => received.includes("\r\n\r\n"), REST_MS);
    sent.headMs = performance.now() - sent.sentAt;
    sent.id = /^x-request-id: (\S+)/im.exec(head)?.[1];
    sent.status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    if (sent.leaves) {
      await client.readUntil((received) => received.includes('"content"'), REST_MS);
      return;
    }
    const response = await client.readResponse({ method: "POST", timeoutMs: REST_MS });
    const { isComplete, status, text } = response;
    sent.isComplete =
      isComplete && status === 200 && (!isStream || text.endsWith("data: [DONE]\n\n"));
    const tokens = /"prompt_tokens":(\d+)/.exec(text)?.[1];
    sent.promptTokens = tokens === undefined ? undefined : Number(tokens);
  } finally {
    client.close();
  }
}
