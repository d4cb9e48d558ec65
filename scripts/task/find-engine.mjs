import { createInterface } from "node:readline";
import { script, stopWithParent } from "./runtime.mjs";
import { startProcess } from "./start-process.mjs";

const PROBE_MS = 500;
const SIMULATOR_START_MS = 15_000;

// The default addresses of engines, each with a path that only this kind of engine answers.
const DEFAULT_ENGINES = [
  { backend: "vllm", address: "http://127.0.0.1:8000", path: "/v1/models", sign: "data" },
  { backend: "ollama", address: "http://127.0.0.1:11434", path: "/api/version", sign: "version" },
];

const nothingToStop = async () => {};

/** Returns the settings for the engine of this dev run, and a function that stops what was started for it. */
export async function findEngine() {
  const { LLM_BACKEND, LLM_BASE_URL } = process.env;
  if (LLM_BACKEND || LLM_BASE_URL) return { env: {}, stop: nothingToStop };
  const found = (await Promise.all(DEFAULT_ENGINES.map(answers))).indexOf(true);
  if (found === -1) return startSimulator();
  const { backend, address } = DEFAULT_ENGINES[found];
  console.log(`dev: found a model server: ${backend} at ${address}`);
  return { env: { LLM_BACKEND: backend, LLM_BASE_URL: address }, stop: nothingToStop };
}

async function answers({ address, path, sign }) {
  try {
    const signal = AbortSignal.timeout(PROBE_MS);
    // Otherwise Bun would use a proxy from the environment.
    const response = await fetch(address + path, { signal, proxy: false });
    return response.ok && sign in (await response.json());
  } catch {
    return false;
  }
}

async function startSimulator() {
  const program = script("simulator/main.ts", [stopWithParent]);
  const { child, ended } = startProcess(program, { group: "own", output: "pipe" });
  const address = `http://${await listeningAddress(child, ended)}`;
  console.log(
    `dev: no model server found on ports 8000 and 11434; the engine simulator answers instead (${address})`,
  );
  return {
    env: { LLM_BACKEND: "vllm", LLM_BASE_URL: address },
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

/** Waits for the simulator's line `listening HOST:PORT`. */
function listeningAddress(child, ended) {
  return new Promise((resolve, reject) => {
    const fail = (reason) => {
      child.kill("SIGTERM");
      reject(new Error(`The engine simulator ${reason}`));
    };
    const timer = setTimeout(() => fail("did not start in time"), SIMULATOR_START_MS);
    ended.then((code) => fail(`ended (${code})`));
    createInterface(child.stdout).on("line", (line) => {
      const address = /^listening (\S+)/.exec(line)?.[1];
      if (address === undefined) return console.log(`simulator: ${line}`);
      clearTimeout(timer);
      resolve(address);
    });
  });
}
