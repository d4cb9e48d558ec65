import { spawnSync } from "node:child_process";

const BUN = "1.4.5";

/** Runs a Bun command, which alone reads bun.lockb: on Bun itself, on the one installed, or on one fetched by npm. */
export function runBun(args) {
  const [command, ...prefix] = findBun();
  const { status, error } = spawnSync(command, [...prefix, ...args], { stdio: "inherit" });
  if (error) console.error(`${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

function findBun() {
  if (process.versions.bun) return [process.execPath];
  if (spawnSync("bun", ["--version"], { stdio: "ignore" }).status === 0) return ["bun"];
  // Without --allow-scripts newer npm leaves a stub in Bun's place.
  return ["npm", "exec", "--yes", "--allow-scripts=bun", `--package=bun@${BUN}`, "--", "bun"];
}
