import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { checkServer } from "./check-server.mjs";
import { runCommand } from "./run-command.mjs";

const STEP_MS = 300_000;

/** Executes the Dockerfile's instructions in a folder, then runs its command as its user, with its health check. */
export async function checkContainer(clone, folder) {
  const app = join(folder, "app");
  mkdirSync(app);
  const { env, user, command, health } = await build(clone, app);
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
    whileReady: () => {
      if (!isHealthy()) throw new Error("the health check failed on a server that is ready");
      backUp(command[0], machine);
    },
  });
}

/** Makes a backup beside the running server, because everything it needs must be in the image. */
function backUp(runtime, machine) {
  const args = ["scripts/backup/main.ts"];
  const { status, stdout, stderr } = spawnSync(runtime, args, { ...machine, encoding: "utf8" });
  const file = stdout.trim();
  if (status !== 0 || !existsSync(file)) throw new Error(`no backup was made: ${stderr}`);
}

/** Executes the instructions in order; returns the settings for the run. */
async function build(clone, app) {
  const image = { env: { PATH: process.env.PATH, HOME: process.env.HOME }, user: [] };
  const follow = {
    COPY: (text) => copy(text.split(/\s+/), clone, app),
    RUN: (text) => runCommand(["sh", "-c", text], { cwd: app, env: image.env }, STEP_MS),
    ENV: (text) => Object.assign(image.env, Object.fromEntries([text.split("=")])),
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

function copy(words, clone, app) {
  // Files of an earlier stage are already in the folder.
  if (words[0].startsWith("--from")) return;
  const sources = words.slice(0, -1);
  const target = words.at(-1);
  for (const source of sources) {
    const name = target.endsWith("/") ? basename(source) : "";
    cpSync(join(clone, source), join(app, target, name), { recursive: true });
  }
}
