import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUN_SETTINGS } from "../../../scripts/task/bun-settings.mjs";
import { commandOf, SHORT_LIVED } from "../processes/bundled-program.ts";
import { placeMigratedDatabase } from "./databases/prepared-database.ts";
import { createOwnDatabase, type OwnDatabase } from "./databases/test-database.ts";

/** A key that every test gateway knows. */
export const TEST_KEY = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz";

/** What a start and a stop may take on a machine that does much else. */
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 90_000;

export interface TestGateway {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly dataDir: string;
  /** Everything it wrote to its outputs so far. */
  readonly output: () => string;
  /** Resolves with the exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Stops it and removes its folder. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts the real server as a user would, on the runtime that runs the tests, in a folder of its own.
 * Rejects with its output when it does not get ready.
 *
 * @param environment settings; `DATA_DIR` keeps a folder over several starts.
 * @param through command that runs the server in its own place, as `unshare` and `exec` do.
 */
export async function startGateway(
  environment: Record<string, string>,
  through: readonly string[] = [],
): Promise<TestGateway> {
  const place = await findPlace(environment);
  const { dataDir } = place;
  const settings = {
    HOST: "127.0.0.1",
    PORT: "0",
    BOOTSTRAP_API_KEY: TEST_KEY,
    DRAIN_TIMEOUT_MS: "2000",
    ALLOW_LICENSE_PUBLIC_KEY: "1",
    ...environment,
    DATA_DIR: dataDir,
    ...(place.database !== undefined && { DATABASE_URL: place.database.url }),
  };
  const child = await spawnServer(settings, through);
  let output = "";
  child.stdout?.on("data", (chunk) => (output += chunk));
  child.stderr?.on("data", (chunk) => (output += chunk));
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve));

  const url = await readyUrl(child, () => output);
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid as number,
    dataDir,
    output: () => output,
    exited,
    kill: (signal) => void child.kill(signal),
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(timer);
      if (!place.isGiven) await rm(dataDir, { recursive: true, force: true });
      await place.database?.drop();
    },
  };
}

interface Place {
  readonly dataDir: string;
  readonly isGiven: boolean;
  readonly database?: OwnDatabase | undefined;
}

/**
 * Where the schema is made already: only tests that name a folder are about what a first start makes in it. The database
 * is the one that the run is about; `DATABASE_URL: ""` asks for the embedded one, which takes twice the time to start.
 */
async function findPlace(environment: Record<string, string>): Promise<Place> {
  const given = environment["DATA_DIR"];
  if (given !== undefined) return { dataDir: given, isGiven: true };
  const dataDir = await mkdtemp(join(tmpdir(), "gateway-test-"));
  const database =
    environment["DATABASE_URL"] === undefined ? await createOwnDatabase() : undefined;
  if (database === undefined && !environment["DATABASE_URL"]) await placeMigratedDatabase(dataDir);
  return { dataDir, isGiven: false, database };
}

/** Starts the server and waits for its end: for starts that are to be refused. */
export function startRefused(environment: Record<string, string>): Promise<EndedStart> {
  return endOfStart(environment, () => undefined);
}

/** Starts the server, and sends SIGTERM as soon as its output has the text: once, for a second one ends it at once. */
export function stopWhileStarting(
  environment: Record<string, string>,
  text: string,
): Promise<EndedStart> {
  let isSent = false;
  return endOfStart(environment, (child, output) => {
    if (isSent || !output.includes(text)) return;
    isSent = true;
    child.kill("SIGTERM");
  });
}

interface EndedStart {
  readonly code: number | null;
  readonly output: string;
}

async function endOfStart(
  environment: Record<string, string>,
  onOutput: (child: ChildProcess, output: string) => void,
): Promise<EndedStart> {
  const child = await spawnServer({ HOST: "127.0.0.1", PORT: "0", ...environment });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => {
      output += chunk;
      onOutput(child, output);
    });
  }
  const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
  const code = await new Promise<number | null>((resolve) => child.on("exit", resolve));
  clearTimeout(timer);
  return { code, output };
}

async function spawnServer(
  environment: Record<string, string>,
  through: readonly string[] = [],
): Promise<ChildProcess> {
  const [command = "", ...rest] = [...through, ...(await commandOf("src/main.ts"))];
  return spawn(command, rest, {
    env: { PATH: "/usr/bin:/bin", ...BUN_SETTINGS, ...SHORT_LIVED, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function readyUrl(child: ChildProcess, output: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      child.kill("SIGKILL");
      reject(new Error(`${reason}:\n${output()}`));
    };
    const timer = setTimeout(() => fail("the server was not ready in time"), START_TIMEOUT_MS);
    child.on("exit", (code) => fail(`the server left with ${code}`));
    child.stdout?.on("data", () => {
      const url = /"url":"(http:[^"]+)"[^\n]*"msg":"listening"/.exec(output())?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}
