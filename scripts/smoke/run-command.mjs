import { spawn } from "node:child_process";

/** Runs a command, prints and returns its output; throws when it fails or takes too long. */
export async function runCommand([program, ...args], { cwd, env }, timeoutMs) {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  const timer = setTimeout(() => child.kill("SIGTERM"), timeoutMs);
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
    process.stdout.write(chunk);
  });
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  clearTimeout(timer);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}`);
  return output;
}
