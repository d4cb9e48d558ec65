import { spawn } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";

const STOP_MS = 20_000;
const POLL_MS = 25;
const ANSWER_MS = 30_000;
const READY = /"url":"([^"]+)".*"msg":"listening"/;
const KEY = /Authorization: Bearer (sk-\w+)/;

/**
 * Starts a server by its command, requests its health and one streamed answer, sends the command a signal, and checks
 * that nothing is left. Prints how long it took to be ready; throws at the first failure. `whileReady(server)` may do
 * more in between.
 */
export async function checkServer({
  name,
  command,
  machine,
  told,
  streams = true,
  readyMs = 30_000,
  signal = "SIGTERM",
  whileReady = () => {},
}) {
  const server = startServer(command, machine);
  try {
    await until(
      () => READY.test(server.output()),
      readyMs,
      () => `not ready:\n${server.output()}`,
    );
    const timing = `ready after ${server.sinceProgramMs()} ms (the command: ${server.sinceCommandMs()} ms)`;
    const [, url] = READY.exec(server.output());
    if (told && !server.output().includes(told)) throw new Error(`did not print "${told}"`);
    await askHealth(url);
    await askConsole(url);
    if (streams) {
      await server.says(KEY);
      await askStream(url, KEY.exec(server.output())[1]);
    }
    await whileReady(server);
    server.signal(signal);
    await until(
      () => server.isOver(),
      STOP_MS,
      () => `${signal} did not end the command`,
    );
    await until(
      () => leftBehind(machine.cwd).length === 0,
      STOP_MS,
      () => `left behind: ${leftBehind(machine.cwd)}`,
    );
    if (await answers(url)) throw new Error("still listening at the end");
    console.log(
      `smoke: ${name}: ${command.join(" ")}: ${told ?? "server"}, ${timing}, ended clean by ${signal}`,
    );
  } catch (error) {
    throw new Error(`${name}: ${error.message}\n--- its output:\n${server.output()}`, {
      cause: error,
    });
  } finally {
    for (const pid of leftBehind(machine.cwd)) process.kill(pid, "SIGKILL");
  }
}

function startServer([program, ...args], { cwd, env, uid, gid }) {
  const startedMs = performance.now();
  const stdio = ["ignore", "pipe", "pipe"];
  const child = spawn(program, args, { cwd, env, uid, gid, stdio, detached: true });
  process.once("exit", () => child.kill("SIGTERM"));
  let output = "";
  let programMs = startedMs;
  let readyMs = 0;
  const collect = (chunk) => {
    output += chunk;
    if (chunk.includes("runtime: ")) programMs = performance.now();
    if (readyMs === 0 && READY.test(output)) readyMs = performance.now();
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", collect);
  child.once("error", (error) => collect(error.message));
  return {
    /** Sends a signal to the command only; SIGINT goes to the whole group, as from a terminal. */
    signal: (name) => process.kill(name === "SIGINT" ? -child.pid : child.pid, name),
    output: () => output,
    /** Waits until its output matches. */
    says: (pattern) =>
      until(
        () => pattern.test(output),
        ANSWER_MS,
        () => `did not say ${pattern}`,
      ),
    isOver: () => child.exitCode !== null || child.signalCode !== null,
    /** Measured from the server's first line, when dependencies and engine are ready. */
    sinceProgramMs: () => Math.round(readyMs - programMs),
    sinceCommandMs: () => Math.round(readyMs - startedMs),
  };
}

async function askHealth(url) {
  const response = await fetch(`${url}/api/health`, { signal: AbortSignal.timeout(ANSWER_MS) });
  const { version } = await response.json();
  if (response.status !== 200 || !version)
    throw new Error(`/api/health answered ${response.status}`);
}

/** A page of the console is there at once: the built one, or one that waits for it. */
async function askConsole(url) {
  const response = await fetch(`${url}/console/`, { signal: AbortSignal.timeout(ANSWER_MS) });
  const isPage = (await response.text()).startsWith("<!doctype html>");
  if (!isPage || ![200, 503].includes(response.status))
    throw new Error(`/console/ answered ${response.status}`);
}

async function askStream(url, key) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ stream: true, messages: [{ role: "user", content: "Hello" }] }),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const events = (await response.text())
    .split("\n\n")
    .filter((event) => event.startsWith("data: "));
  const words = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)));
  const text = words.map(({ choices }) => choices[0]?.delta?.content ?? "").join("");
  if (response.status !== 200 || text === "" || events.at(-1) !== "data: [DONE]") {
    throw new Error(
      `the stream was wrong: ${response.status}, ${events.length} events, text "${text}"`,
    );
  }
}

async function answers(url) {
  return fetch(`${url}/api/health`, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
    () => true,
    () => false,
  );
}

/** Returns the processes that still run in the clone. */
function leftBehind(folder) {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => workingFolder(pid).startsWith(folder)).map(Number);
}

function workingFolder(pid) {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

async function until(holds, timeoutMs, complaint) {
  for (const endMs = performance.now() + timeoutMs; !holds(); ) {
    if (performance.now() > endMs) throw new Error(complaint());
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
