import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

let built: Promise<void> | undefined;

/** Builds the console as `start` does, unless it is built: once in this process, at no cost when nothing has changed. */
export function buildConsole(): Promise<void> {
  built ??= runBuild();
  return built;
}

async function runBuild(): Promise<void> {
  const child = spawn(process.execPath, ["scripts/task/build-console.mjs"], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (output += chunk));
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`the console was not built:\n${output}`);
}
