// Runs the steps of a new user in a fresh clone and a clean environment: `dev`, one streamed answer, stop, `start`,
// `test`.
// usage: node scripts/smoke.mjs node|bun|container [--test]     `--test` also runs the tests there, but the browser's
// `node` simulates a machine without Bun, `bun` one without Node; `container` runs the Dockerfile without an engine.
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { checkContainer } from "./smoke/check-container.mjs";
import { checkServer } from "./smoke/check-server.mjs";
import { isolatePath } from "./smoke/isolate-path.mjs";
import { runCommand } from "./smoke/run-command.mjs";

const INSTALL_MS = 300_000;
const BUILT_MS = 120_000;
const TEST_MS = 2_700_000;
const runner = { node: ["npm", "run"], bun: ["bun", "run"] };
const version = { node: ["node", "--version"], bun: ["bun", "--version"] };

const kind = process.argv[2];
const root = resolve(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "smoke-"));
chmodSync(folder, 0o755);

process.once("SIGTERM", () => process.exit(1));

try {
  const clone = join(folder, "main");
  execFileSync("git", ["clone", "--quiet", "--no-hardlinks", root, clone]);
  if (existsSync(join(root, "../shared")))
    symlinkSync(join(root, "../shared"), join(folder, "shared"));
  if (kind === "container") await checkContainer(clone, folder);
  else await checkCommands(kind, clone);
  console.log(`smoke ${kind}: passed`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function checkCommands(runtime, clone) {
  const path = isolatePath(join(folder, "bin"), runtime);
  // Port 0 selects a free port: the only setting beyond those of a new user.
  const { HOME, CHROMIUM } = process.env;
  const env = { PATH: path, HOME, PORT: "0", ...(CHROMIUM && { CHROMIUM }) };
  const machine = { cwd: clone, env };
  const number = execFileSync(...[version[runtime][0], [version[runtime][1]]], { env }).toString();
  const told = `runtime: ${runtime} ${number.trim().replace(/^v/, "")}`;
  const run = (task) => [...runner[runtime], task];

  const dev = { command: run("dev"), machine, told };
  const built = { whileReady: consoleIsBuilt };
  await checkServer({ name: "dev, first", ...dev, ...built, readyMs: INSTALL_MS });
  await checkServer({ name: "dev, later", ...dev, whileReady: changeSource, signal: "SIGKILL" });
  writeFileSync(join(clone, ".env"), "HOST=127.0.0.1\n");
  const start = { command: run("start"), machine, told };
  const settled = { whileReady: settingsAreRead, streams: false, signal: "SIGINT" };
  await checkServer({ name: "start", ...start, ...settled });
  const changed = execFileSync("git", ["status", "--porcelain"], { cwd: clone }).toString();
  if (changed !== " M src/main.ts\n") throw new Error(`not clean: ${changed}`);
  if (!process.argv.includes("--test")) return;
  const command = runtime === "node" ? ["npm", "test", "--"] : ["bun", "run", "test"];
  // The run reports a test that needs a retry; this must not block a change.
  const projects = ["--project", "pure", "--project", "system"];
  const test = [runtime, "scripts/run-tests.mjs", ...command, "--retry=1", ...projects];
  const output = await runCommand(test, machine, TEST_MS);
  if (!output.includes(told)) throw new Error(`${test.join(" ")} did not run on ${told}`);
}

/** Waits until the built console is served in place of the page that waits for it. */
async function consoleIsBuilt({ output }) {
  const [, url] = /"url":"([^"]+)"/.exec(output());
  const startedMs = performance.now();
  for (let status = 0; status !== 200; ) {
    if (performance.now() - startedMs > BUILT_MS) throw new Error("the console was not built");
    await new Promise((resolve) => setTimeout(resolve, 100));
    ({ status } = await fetch(`${url}/console/`));
  }
  console.log(`smoke: the console after ${Math.round(performance.now() - startedMs)} ms`);
}

/** The console is built, and the server has the settings of `.env`. */
async function settingsAreRead({ output }) {
  await consoleIsBuilt({ output });
  if (!output().includes('"address":"127.0.0.1:')) throw new Error(".env was not read");
}

/** Changes a file under src and waits for the restart. */
async function changeSource({ says }) {
  appendFileSync(join(folder, "main/src/main.ts"), "\n");
  await says(/starting again(.|\n)*"msg":"ready"/);
}
