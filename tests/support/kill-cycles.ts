import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chatBody, openCall } from "./call-gateway.ts";
import { startGateway } from "./start-gateway.ts";
import { startSimulator } from "./start-simulator.ts";
import { readUsageRows, type StoredUsage } from "./stored-usage.ts";

const MODEL = "sim-chat";
const TICK_MS = 10;
/** A stream of so many takes seconds: whoever leaves it early leaves it unfinished, however slow the machine is. */
const LONG_TOKENS = 2_000;
/** How long an answer's rest may take to come, or its connection to end, once the server is gone. */
const REST_MS = 10_000;

export interface KillCyclesOptions {
  readonly cycles: number;
  readonly requestsPerSecond: number;
  /** A server lives under load for so long, at random. */
  readonly livesMs: { readonly least: number; readonly most: number };
  readonly engine: "vllm" | "ollama";
  /** Unset: the embedded database. */
  readonly databaseUrl?: string | undefined;
}

export interface KillCyclesReport {
  readonly requests: number;
  /** Answers received to their last byte. */
  readonly complete: number;
  /** Of those: without a row, without exactly one true row. */
  readonly lost: readonly string[];
  readonly wrong: readonly string[];
  /** Streams that the client itself left in the middle, and what their rows are wrong in. */
  readonly left: number;
  readonly leftWrong: readonly string[];
  /** Answers that the kill cut after their head had come, and those of them without a row. */
  readonly cut: number;
  readonly cutLost: readonly string[];
  /** Cut answers whose row says success: their end was recorded, their last bytes never left. */
  readonly cutAtTheLastByte: number;
  /** Rows of requests that the client never saw an answer of; and how many such requests there were. */
  readonly unseenRows: number;
  readonly unseenRequests: number;
  readonly rows: number;
  readonly slowestBootMs: number;
}

interface Sent {
  id: string | undefined;
  isComplete: boolean;
  readonly leaves: boolean;
  promptTokens: number | undefined;
}

/** Kills the server at random moments under a mixed load, again and again, and compares the answers with the rows. */
export async function runKillCycles(options: KillCyclesOptions): Promise<KillCyclesReport> {
  const dataDir = await mkdtemp(join(tmpdir(), "kill-cycles-"));
  const simulator = await startSimulator({ uniqueUsage: true, tokensPerSecond: 400 });
  simulator.script({
    match: { body: `"max_tokens":${LONG_TOKENS}` },
    times: "always",
    text: "word ",
    repeat: LONG_TOKENS,
  });
  simulator.script({
    match: { body: `"num_predict":${LONG_TOKENS}` },
    times: "always",
    text: "word ",
    repeat: LONG_TOKENS,
  });
  const { databaseUrl, engine } = options;
  const environment = {
    LLM_BACKEND: engine,
    LLM_BASE_URL: simulator.url,
    LOG_LEVEL: "info",
    DATA_DIR: dataDir,
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
  };
  const sent: Sent[] = [];
  let slowestBootMs = 0;
  try {
    for (let cycle = 0; cycle <= options.cycles; cycle += 1) {
      const startedAt = Date.now();
      const gateway = await startGateway(environment);
      slowestBootMs = Math.max(slowestBootMs, Date.now() - startedAt);
      if (cycle === options.cycles) {
        await gateway.stop();
        break;
      }
      const { least, most } = options.livesMs;
      const livesMs = least + Math.random() * (most - least);
      const load = runLoad(gateway.port, options.requestsPerSecond, sent);
      await sleep(livesMs);
      gateway.kill("SIGKILL");
      await load.stop();
      await gateway.exited;
    }
    const rows = await readUsageRows({ DATA_DIR: dataDir, DATABASE_URL: databaseUrl });
    return { ...compare(sent, rows), slowestBootMs };
  } finally {
    await simulator.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Streams, whole answers and streams that are left in the middle, at a steady rate, whatever becomes of them. */
function runLoad(
  port: number,
  requestsPerSecond: number,
  sent: Sent[],
): { readonly stop: () => Promise<void> } {
  const running = new Set<Promise<void>>();
  const startedAt = performance.now();
  let begun = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) * requestsPerSecond) / 1_000;
    for (; begun < due; begun += 1) {
      const one: Sent = {
        id: undefined,
        isComplete: false,
        leaves: begun % 10 === 9,
        promptTokens: undefined,
      };
      sent.push(one);
      const call = sendOne(port, begun % 2 === 1, one)
        .catch(() => undefined)
        .finally(() => running.delete(call));
      running.add(call);
    }
  }, TICK_MS);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(running);
    },
  };
}

async function sendOne(port: number, stream: boolean, sent: Sent): Promise<void> {
  const more = stream ? { stream, stream_options: { include_usage: true } } : {};
  const max_tokens = sent.leaves ? LONG_TOKENS : 30;
  const client = await openCall(port, { body: chatBody(MODEL, { ...more, max_tokens }) });
  try {
    const head = await client.readUntil((received) => received.includes("\r\n\r\n"), REST_MS);
    sent.id = /^x-request-id: (\S+)/im.exec(head)?.[1];
    if (sent.leaves) {
      await client.readUntil((received) => received.includes('"content"'), REST_MS);
      return;
    }
    const response = await client.readResponse({ method: "POST", timeoutMs: REST_MS });
    const { isComplete, status, text } = response;
    sent.isComplete =
      isComplete && status === 200 && (!stream || text.endsWith("data: [DONE]\n\n"));
    const tokens = /"prompt_tokens":(\d+)/.exec(text)?.[1];
    sent.promptTokens = tokens === undefined ? undefined : Number(tokens);
  } finally {
    client.close();
  }
}

function compare(
  sent: readonly Sent[],
  rows: readonly StoredUsage[],
): Omit<KillCyclesReport, "slowestBootMs"> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const rowOf = ({ id }: Sent) => byId.get(id ?? "");
  const describe = (one: Sent) => `${one.id} ${JSON.stringify(rowOf(one) ?? null)}`;
  const seen = sent.filter(({ id }) => id !== undefined);
  const complete = seen.filter(({ isComplete }) => isComplete);
  const left = seen.filter(({ leaves }) => leaves);
  const cut = seen.filter(({ isComplete, leaves }) => !isComplete && !leaves);
  const isTrue = (one: Sent) => {
    const row = rowOf(one);
    return row?.outcome === "ok" && row.success && row.inputTokens === one.promptTokens;
  };
  const seenIds = new Set(seen.map(({ id }) => id));
  return {
    requests: sent.length,
    complete: complete.length,
    lost: complete.filter((one) => rowOf(one) === undefined).map(describe),
    wrong: complete.filter((one) => rowOf(one) !== undefined && !isTrue(one)).map(describe),
    left: left.length,
    leftWrong: left.filter((one) => rowOf(one)?.success !== false).map(describe),
    cut: cut.length,
    cutLost: cut.filter((one) => rowOf(one) === undefined).map(describe),
    cutAtTheLastByte: cut.filter((one) => rowOf(one)?.success === true).length,
    unseenRows: rows.filter(({ id }) => !seenIds.has(id)).length,
    unseenRequests: sent.length - seen.length,
    rows: rows.length,
  };
}
