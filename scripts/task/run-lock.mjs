import { spawnSync } from "node:child_process";
import { runBun } from "./run-bun.mjs";

/** Updates bun.lockb to package.json and removes the registry's address from it. */
export function runLock(args) {
  runBun(["install", ...args]);
  return spawnSync(process.execPath, ["scripts/scrub-lockb.mjs", "bun.lockb"], { stdio: "inherit" })
    .status;
}
