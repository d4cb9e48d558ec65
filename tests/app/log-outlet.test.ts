import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callGateway } from "../support/clients/call-gateway.ts";
import { commandOf, SHORT_LIVED } from "../support/processes/bundled-program.ts";
import { freePort } from "../support/processes/free-port.ts";
import { type KeptPlace, makeKeptPlace } from "../support/servers/databases/kept-place.ts";

const START_MS = 120_000;
const STOP_MS = 60_000;
/** Enough lines to fill every buffer of a pipe or a socket. */
const CALLS = 4_000;
const AT_A_TIME = 50;

let root: string;
/** The servers come one after another. */
let place: KeptPlace;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "log-outlet-"));
  place = await makeKeptPlace();
});
afterAll(async () => {
  await place.remove();
  await rm(root, { recursive: true, force: true });
});

interface Server {
  readonly port: number;
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
}

/** The real server with its standard output as given, once it answers. */
async function startServer(
  stdout: "pipe" | number,
  onStart: (child: ChildProcess) => void = () => undefined,
): Promise<Server> {
  const port = await freePort();
  const [command = "", ...args] = await commandOf("src/main.ts");
  const child = spawn(command, args, {
    env: {
      PATH: "/usr/bin:/bin",
      HOST: "127.0.0.1",
      PORT: String(port),
      ...SHORT_LIVED,
      ...place.settings,
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: `http://127.0.0.1:${await freePort()}`,
      LOG_LEVEL: "debug",
    },
    stdio: ["ignore", stdout, "ignore"],
  });
  onStart(child);
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve));
  const until = Date.now() + START_MS;
  while (!(await isStarted(port))) {
    if (Date.now() > until || child.exitCode !== null) throw new Error("it does not answer");
    await sleep(100);
  }
  return { port, child, exited };
}

/** Before that, calls are answered with 503. */
async function isStarted(port: number): Promise<boolean> {
  const call = callGateway(port, { method: "GET", path: "/started" });
  return call.then(
    ({ status }) => status === 404,
    () => false,
  );
}

async function isHealthy(port: number): Promise<boolean> {
  const call = callGateway(port, { method: "GET", path: "/api/health" });
  return call.then(
    ({ status }) => status === 200,
    () => false,
  );
}

async function callOften(port: number): Promise<void> {
  const path = `/${"x".repeat(120)}`;
  for (let call = 0; call < CALLS; call += AT_A_TIME) {
    const calls = Array.from({ length: AT_A_TIME }, () =>
      callGateway(port, { method: "GET", path }),
    );
    for (const { status } of await Promise.all(calls)) expect(status).toBe(404);
  }
}

/** It still answers, and leaves with 0 when it is told to stop. */
async function expectUnhurt({ port, child, exited }: Server): Promise<void> {
  expect(await isHealthy(port)).toBe(true);
  child.kill("SIGTERM");
  const late = sleep(STOP_MS, "late" as const, { ref: false });
  const code = await Promise.race([exited, late]);
  child.kill("SIGKILL");
  expect(code).toBe(0);
}

describe("a server whose output", () => {
  it("is a file writes every line into it, to the last one", async () => {
    const path = join(root, "log");
    const file = openSync(path, "a");
    const server = await startServer(file);
    closeSync(file);
    for (let call = 0; call < 10; call += 1)
      await callGateway(server.port, { method: "GET", path: "/nothing" });
    await expectUnhurt(server);
    const text = readFileSync(path, "utf8");
    const lines = text.split("\n").filter((line) => line.startsWith("{"));
    const read = lines.map((line) => JSON.parse(line));
    expect(read.filter(({ path: asked }) => asked === "/nothing")).toHaveLength(10);
    expect(read.filter(({ msg }) => msg === "stopping")).toHaveLength(1);
  }, 240_000);

  it("nobody reads answers all the same, and leaves when it should", async () => {
    const server = await startServer("pipe", ({ stdout }) => stdout?.pause());
    await callOften(server.port);
    await expectUnhurt(server);
  }, 300_000);

  it("is closed goes on", async () => {
    const server = await startServer("pipe", ({ stdout }) => stdout?.destroy());
    await callOften(server.port);
    await expectUnhurt(server);
  }, 300_000);
});
