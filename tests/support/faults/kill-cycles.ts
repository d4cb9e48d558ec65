import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type SentCall,
  type SteadyLoad,
  scriptLongStreams,
  startSteadyLoad,
} from "../clients/load/steady-load.ts";
import { type AnswersComparison, compareAnswers } from "../compare-answers.ts";
import { startGateway } from "../servers/start-gateway.ts";
import { startSimulator } from "../servers/start-simulator.ts";
import { readUsageRows } from "../stages/usage/stored-usage.ts";
import { faultRandom } from "./fault-random.ts";

export interface KillCyclesOptions {
  readonly cycles: number;
  readonly requestsPerSecond: number;
  /** A server lives under load for so long, at random. */
  readonly livesMs: { readonly least: number; readonly most: number };
  readonly engine: "vllm" | "ollama";
  /** Unset: the embedded database. */
  readonly databaseUrl?: string | undefined;
}

export interface KillCyclesReport extends AnswersComparison {
  readonly slowestBootMs: number;
}

/** Until the first answers of a life, on a busy machine. */
const ANSWERED_MS = 120_000;
/** Journals of so many lives, on a busy machine. */
const REPLAY_MS = 120_000;

/** Kills the server at random moments under a mixed load, again and again, and compares the answers with the rows. */
export async function runKillCycles(options: KillCyclesOptions): Promise<KillCyclesReport> {
  const { databaseUrl, engine, requestsPerSecond } = options;
  const dataDir = await mkdtemp(join(tmpdir(), "kill-cycles-"));
  const random = faultRandom(`kills, ${engine}`);
  const simulator = await startSimulator({ uniqueUsage: true, tokensPerSecond: 400 });
  scriptLongStreams(simulator);
  const environment = {
    LLM_BACKEND: engine,
    LLM_BASE_URL: simulator.url,
    LOG_LEVEL: "info",
    DATA_DIR: dataDir,
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
  };
  const sent: SentCall[] = [];
  let slowestBootMs = 0;
  try {
    for (let cycle = 0; cycle <= options.cycles; cycle += 1) {
      const startedAt = Date.now();
      const gateway = await startGateway(environment);
      slowestBootMs = Math.max(slowestBootMs, Date.now() - startedAt);
      if (cycle === options.cycles) {
        await journalsAreReplayed(dataDir);
        await gateway.stop();
        break;
      }
      const { least, most } = options.livesMs;
      const livesMs = least + random() * (most - least);
      const load = startSteadyLoad({ port: gateway.port, requestsPerSecond });
      await sleep(livesMs);
      await hasAnswered(load);
      gateway.kill("SIGKILL");
      sent.push(...(await load.stop()));
      await gateway.exited;
    }
    const rows = await readUsageRows({ DATA_DIR: dataDir, DATABASE_URL: databaseUrl });
    return { ...compareAnswers(sent, rows), slowestBootMs };
  } finally {
    await simulator.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Some answer is whole, and another one has begun: the kill is to cut something. */
async function hasAnswered({ sent }: SteadyLoad): Promise<void> {
  const endsAt = performance.now() + ANSWERED_MS;
  const isUnderWay = ({ id, isComplete, leaves }: SentCall) =>
    id !== undefined && !isComplete && !leaves;
  while (!sent.some(({ isComplete }) => isComplete) || !sent.some(isUnderWay)) {
    if (performance.now() > endsAt) throw new Error("the server answers nothing");
    await sleep(2);
  }
}

/** Only the running server's own journal is left: what those before it wrote is in the database. */
async function journalsAreReplayed(dataDir: string): Promise<void> {
  const endsAt = performance.now() + REPLAY_MS;
  const journals = async () => {
    const names = await readdir(join(dataDir, "journal"));
    return names.filter((name) => name.endsWith(".journal")).length;
  };
  while ((await journals()) > 1) {
    if (performance.now() > endsAt) throw new Error("journals are not replayed in time");
    await sleep(200);
  }
}
