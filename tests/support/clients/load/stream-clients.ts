import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildTools, type Percentiles } from "../../../../bench/load/load-tools.ts";
import { TEST_KEY } from "../../servers/start-gateway.ts";

const STARTS_WITHIN_MS = 60_000;
/** So many a second begin: all within a second or two. */
const STARTS_PER_S = 10_000;

/** What one process of clients has seen. */
export interface StreamClientsReport {
  readonly started: number;
  readonly done: number;
  readonly broken: number;
  readonly refused: number;
  readonly unfinished: number;
  readonly firstMs: Percentiles;
  /** Between two events of a stream. */
  readonly gapMs: Percentiles;
}

export interface StreamClients {
  readonly finish: () => Promise<StreamClientsReport>;
  /** All of them go away at once. */
  readonly kill: () => void;
}

export interface LoadTools {
  readonly startEngine: () => Promise<{ readonly port: number; readonly stop: () => void }>;
  /** Streams in a process of their own, all begun within a second or two, each taking `seconds` or longer. */
  readonly startClients: (options: {
    readonly port: number;
    readonly streams: number;
    readonly events: number;
    readonly intervalMs: number;
  }) => StreamClients;
}

/** The benchmark's engine and clients, small programs in C; undefined where there is no compiler. */
export function buildLoadTools(): LoadTools | undefined {
  if (!["/usr/bin/cc", "/usr/local/bin/cc"].some((path) => existsSync(path))) return undefined;
  const folder = dirname(buildTools());
  return {
    async startEngine() {
      const child = spawn(join(folder, "upstream"), ["0"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const line = await firstLine(child);
      return { port: Number(/:(\d+)/.exec(line)?.[1]), stop: () => void child.kill("SIGKILL") };
    },
    startClients({ port, streams, events, intervalMs }) {
      const content = `Say hello. @@${events},${intervalMs}`;
      const messages = [{ role: "user", content }];
      const body = JSON.stringify({ model: "bench", stream: true, messages });
      // So long a client that is done would begin anew; none is.
      const seconds = (events * intervalMs) / 1_000 - 1;
      const path = "/v1/chat/completions";
      const words = [port, path, streams, seconds, events, "data: [DONE]", STARTS_PER_S, body];
      const args = [...words.map(String), `Authorization: Bearer ${TEST_KEY}`];
      const child = spawn(join(folder, "streamload"), args, {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let output = "";
      child.stdout.on("data", (chunk) => (output += chunk));
      const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
      return {
        async finish() {
          await ended;
          return JSON.parse(output) as StreamClientsReport;
        },
        kill: () => void child.kill("SIGKILL"),
      };
    },
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the engine did not start")), STARTS_WITHIN_MS);
    child.stdout?.once("data", (chunk) => {
      clearTimeout(timer);
      resolve(String(chunk));
    });
  });
}
