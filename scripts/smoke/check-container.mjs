import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { checkServer } from "./check-server.mjs";
import { runCommand } from "./run-command.mjs";

const STEP_MS = 300_000;
/** The working folder of all stages. */
const APP = "/app";

/**
 * Executes the Dockerfile's instructions, each stage in a folder of its own, then runs its command as its user, with its
 * health check.
 */
export async function checkContainer(clone, folder) {
  const { app, env, user, command, health } = await build(clone, folder);
  const [uid, gid] = user;
  if (!uid) throw new Error("the Dockerfile sets no user other than root");
  // A separate port and home, which a container would have anyway.
  const port = 20_000 + (process.pid % 10_000);
  const machine = {
    ...{ cwd: app, uid, gid },
    env: { ...env, HOME: app, PORT: `${port}`, DATA_DIR: join(app, "data") },
  };
  const isHealthy = () => spawnSync(health[0], health.slice(1), machine).status === 0;

  if (isHealthy()) throw new Error("healthy before the start");
  await checkServer({
    ...{ name: "container", command, machine, streams: false },
    whileReady: async ({ output }) => {
      await askConsole(output());
      if (!isHealthy()) throw new Error("the health check failed on a server that is ready");
      backUp(command[0], machine);
    },
  });
}

/** The console must be in the image: there its page is the built one, never the one that waits. */
async function askConsole(output) {
  const [, url] = /"url":"([^"]+)"/.exec(output);
  const { status } = await fetch(`${url}/console/`);
  if (status !== 200) throw new Error(`/console/ was answered ${status}`);
}

/** Makes a backup beside the running server, because everything it needs must be in the image. */
function backUp(runtime, machine) {
  const args = ["scripts/backup/main.ts"];
  const { status, stdout, stderr } = spawnSync(runtime, args, { ...machine, encoding: "utf8" });
  const file = stdout.trim();
  if (status !== 0 || !existsSync(file)) throw new Error(`no backup was made: ${stderr}`);
}

/** Executes the instructions in order; returns the last stage's folder and the settings for the run. */
async function build(clone, folder) {
  const stages = new Map();
  const image = { app: "", env: {}, user: [] };
  const follow = {
    FROM: (text) => {
      const app = mkdtempSync(join(folder, "stage-"));
      // Another user runs what is in the last one.
      chmodSync(app, 0o755);
      stages.set(/ AS (\S+)$/.exec(text)?.[1], app);
      Object.assign(image, { app, env: { PATH: process.env.PATH, HOME: process.env.HOME } });
    },
    COPY: (text) => copy(text.split(/\s+/), { clone, stages, app: image.app }),
    RUN: (text) => runCommand(["sh", "-c", text], { cwd: image.app, env: image.env }, STEP_MS),
    ENV: (text) => {
      const [, name, value] = /^(\w+)="?(.*?)"?$/.exec(text);
      image.env[name] = value;
    },
    USER: (text) => Object.assign(image, { user: text.split(":").map(Number) }),
    CMD: (text) => Object.assign(image, { command: JSON.parse(text) }),
    HEALTHCHECK: (text) =>
      Object.assign(image, { health: JSON.parse(text.slice(text.indexOf("["))) }),
  };
  const text = readFileSync(join(clone, "Dockerfile"), "utf8");
  for (const [, instruction, rest] of text.matchAll(/^([A-Z]+)\s+(.*)$/gm)) {
    await follow[instruction]?.(rest);
  }
  return image;
}

function copy(words, { clone, stages, app }) {
  const stage = /^--from=(.+)$/.exec(words[0])?.[1];
  const [target, ...reversed] = words.slice(stage === undefined ? 0 : 1).reverse();
  for (const source of reversed.reverse()) {
    const from = stage === undefined ? join(clone, source) : join(stages.get(stage), inApp(source));
    const name = target.endsWith("/") && source !== APP ? basename(source) : "";
    // Links instead of copies: the packages are hundreds of megabytes, and nobody changes them.
    mkdirSync(join(app, target, name, ".."), { recursive: true });
    const { status, stderr } = spawnSync("cp", [
      "-a",
      "--link",
      "-T",
      from,
      join(app, target, name),
    ]);
    if (status !== 0) throw new Error(`COPY ${words.join(" ")}: ${stderr}`);
  }
}

/** Returns a path of a stage below the working folder, which is the only one. */
function inApp(path) {
  return path === APP ? "." : path.slice(APP.length + 1);
}
