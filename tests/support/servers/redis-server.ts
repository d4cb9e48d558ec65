import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../processes/free-port.ts";

const START_TIMEOUT_MS = 60_000;
const PROGRAMS = ["/usr/bin/redis-server", "/usr/bin/valkey-server"];

export interface RedisServerOptions {
  /** Asked of everybody who connects. */
  readonly password?: string;
  /** Lines of its configuration beside ours. */
  readonly configuration?: readonly string[];
  /** Paths of a key and a certificate: it then speaks TLS and nothing else. */
  readonly tls?: { readonly keyFile: string; readonly certificateFile: string };
}

/** A Redis or Valkey server of our own on a free port of the loopback, which keeps nothing over a restart. */
export interface RedisServer {
  readonly port: number;
  /** Without the password. */
  readonly url: string;
  readonly start: () => Promise<void>;
  /** Ends it at once, with all it holds. */
  readonly kill: () => Promise<void>;
  /** SIGSTOP: it accepts connections and answers nothing, until `thaw`. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Ends it and removes its folder. */
  readonly remove: () => Promise<void>;
}

/** Starts one; undefined, with a line that says so, where neither program is installed. */
export async function startRedisServer(
  options: RedisServerOptions = {},
): Promise<RedisServer | undefined> {
  const program = PROGRAMS.find((path) => existsSync(path));
  if (program === undefined) {
    // biome-ignore lint/suspicious/noConsole: says which tests are left out
    console.info("Neither Redis nor Valkey is installed: the cases that need one are left out.");
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), "redis-"));
  const port = await freePort();
  const file = join(folder, "redis.conf");
  writeFileSync(file, configurationOf(options, port, folder).join("\n"));
  let child: ChildProcess | undefined;
  const kill = async () => {
    const ended = child;
    child = undefined;
    if (ended === undefined || ended.exitCode !== null) return;
    const exited = new Promise((resolve) => ended.once("exit", resolve));
    ended.kill("SIGKILL");
    await exited;
  };
  const server: RedisServer = {
    port,
    url: `${options.tls === undefined ? "redis" : "rediss"}://127.0.0.1:${port}`,
    async start() {
      child = await started(spawn(program, [file], { stdio: ["ignore", "pipe", "pipe"] }));
    },
    kill,
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    async remove() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

function configurationOf(options: RedisServerOptions, port: number, folder: string): string[] {
  const { password, configuration = [], tls } = options;
  const listen =
    tls === undefined
      ? [`port ${port}`]
      : [
          "port 0",
          `tls-port ${port}`,
          `tls-key-file ${tls.keyFile}`,
          `tls-cert-file ${tls.certificateFile}`,
          "tls-auth-clients no",
        ];
  return [
    ...listen,
    "bind 127.0.0.1",
    `dir ${folder}`,
    'save ""',
    "appendonly no",
    "daemonize no",
    ...(password === undefined ? [] : [`requirepass ${password}`]),
    ...configuration,
    "",
  ];
}

function started(child: ChildProcess): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    let output = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
    const look = (chunk: Buffer) => {
      output += chunk.toString();
      if (!/ready to accept connections/i.test(output)) return;
      clearTimeout(timer);
      resolve(child);
    };
    child.stdout?.on("data", look);
    child.stderr?.on("data", look);
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`Redis did not start:\n${output}`)));
  });
}
