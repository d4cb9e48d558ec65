import { spawnSync } from "node:child_process";
import { runBun } from "./run-bun.mjs";

/** Brings bun.lockb up to package.json and takes the registry's address out of it. */
export function runLock(args) {
  runBun(["install", ...args]);
  return spawnSync(process.execPath, ["scripts/scrub-lockb.mjs", "bun.lockb"], { stdio: "inherit" })
    .status;
}
