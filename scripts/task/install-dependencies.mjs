import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { runBun } from "./run-bun.mjs";
import { script } from "./runtime.mjs";

const STAMP = "node_modules/.deps-stamp";
const PREPARE = "scripts/prepare-embedded-database.mjs";

/** Installs exactly the versions in bun.lockb, unless node_modules already has them. */
export function installDependencies() {
  const wanted = createHash("sha256")
    .update(readFileSync("bun.lockb"))
    .update(readFileSync("package.json"))
    .digest("hex");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return;
  console.log("Installing dependencies…");
  runBun(["install", "--frozen-lockfile"]);
  if (existsSync(PREPARE)) {
    const { command, args } = script(PREPARE);
    const { status } = spawnSync(command, args, { stdio: "inherit" });
    if (status !== 0) process.exit(status ?? 1);
  }
  mkdirSync("node_modules", { recursive: true });
  writeFileSync(STAMP, wanted);
}
