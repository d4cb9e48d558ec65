// Stands in for a program that a document names and that a test has not: `node stand-in.mjs npm|bun|docker|claude …`.
// It runs the inner command here, with the runtime of the tests. STAND_IN_FOLDER is its own.
import { spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");
// biome-ignore lint/style/noProcessEnv: a program of its own, which is told all it knows in this way
const environment = process.env;
const folder = environment.STAND_IN_FOLDER;
const onBun = process.versions.bun !== undefined;
const READY = /"msg":"ready"/;
/** What the machine that tests a change runs by itself, and what would run this test again. */
const LOOKED_UP = new Set(["test", "test:faults", "check", "bench"]);
const SERVERS = new Set(["dev", "start"]);

const [name, ...args] = process.argv.slice(2);
const programs = { npm: runTask, bun: runTask, docker: runDocker, claude: runClaude };
process.exit(await programs[name](args));

/** `npm start`, `npm run task -- arguments`, `bun run task arguments`. */
async function runTask([verb, ...rest]) {
  const [task, ...more] = verb === "run" ? rest : [verb, ...rest];
  const given = more.filter((word) => word !== "--");
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  if (scripts[task] === undefined) return refuse(`package.json has no script "${task}"`);
  const done = join(folder, `done-${task}`);
  // By npm or by Bun's own runner it is the same task, which takes long.
  if (LOOKED_UP.has(task) || existsSync(done)) return 0;
  if (SERVERS.has(task)) {
    const code = await serveOnce(task);
    if (code === 0) writeFileSync(done, "");
    return code;
  }
  return run(program(`scripts/${task}/main.ts`), given);
}

/** Most are told by the test, which starts them from one file: loading all modules would take the most of its time. */
function program(name) {
  const told = JSON.parse(environment.STAND_IN_PROGRAMS)[name];
  if (told !== undefined) return told;
  const loader = join(root, "node_modules/tsx/dist/loader.mjs");
  const flags = onBun ? ["--no-env-file"] : ["--import", loader];
  return [process.execPath, ...flags, join(root, name)];
}

function run([command, ...before], after, { env = {}, cwd } = {}) {
  const options = { stdio: "inherit", cwd, env: { ...environment, ...env } };
  return new Promise((done) => {
    spawn(command, [...before, ...after], options).once("exit", (code) => done(code ?? 1));
  });
}

/** A server that gets ready and is stopped has done what the line says. Each has a prepared folder of its own. */
function serveOnce(task, settings = {}) {
  const dev =
    'import("./scripts/task/run-dev.mjs").then(({ runDev }) => runDev()).then(process.exit)';
  const [command, ...rest] =
    task === "dev" ? [process.execPath, "--eval", dev] : program("src/main.ts");
  const env = { HOST: "127.0.0.1", PORT: "0", DATA_DIR: join(folder, task), ...settings };
  const server = spawn(command, rest, {
    cwd: root,
    env: { ...environment, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  server.stdout.on("data", (bytes) => {
    process.stdout.write(bytes);
    if (READY.test(output)) return;
    output += bytes;
    if (READY.test(output)) server.kill("SIGTERM");
  });
  return new Promise((done) => {
    server.once("exit", (code) => done(READY.test(output) ? (code ?? 1) : 1));
  });
}

function runDocker([verb, ...rest]) {
  const image = (tag) => join(folder, `image-${tag}`);
  const container = (tag) => join(folder, `container-${tag}`);
  switch (verb) {
    case "build": {
      const tag = rest[rest.indexOf("-t") + 1];
      if (!existsSync(join(root, "Dockerfile"))) return refuse("there is no Dockerfile");
      writeFileSync(image(tag), "");
      return 0;
    }
    case "run": {
      const { options, words } = readOptions(rest);
      if (!existsSync(image(words[0]))) return refuse(`there is no image ${words[0]}`);
      for (const tag of options["--name"] ?? []) writeFileSync(container(tag), "");
      const pairs = (options["-e"] ?? []).map((pair) => pair.split(/=(.*)/s).slice(0, 2));
      return serveOnce("container", Object.fromEntries(pairs));
    }
    case "exec": {
      const [tag, , file, ...given] = rest;
      if (!existsSync(container(tag))) return refuse(`there is no container ${tag}`);
      const env = { DATA_DIR: join(folder, "container") };
      return run(program(file), given, { env, cwd: root });
    }
    case "cp": {
      const [from, to] = rest;
      const [tag, path] = from.split(":");
      if (!existsSync(container(tag))) return refuse(`there is no container ${tag}`);
      const held = path.replace("/app/data", join(folder, "container"));
      cpSync(held, join(to, path.split("/").at(-1)), { recursive: true });
      return 0;
    }
    default:
      return refuse(`docker ${verb} has no stand-in`);
  }
}

/** Every option of `docker run` that the documents use, but for flags, takes a value. */
function readOptions(args) {
  const FLAGS = new Set(["-d", "--rm", "--init"]);
  const options = {};
  const words = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at];
    if (!word.startsWith("-")) words.push(word);
    if (!word.startsWith("-") || FLAGS.has(word)) continue;
    at += 1;
    options[word] = [...(options[word] ?? []), args[at]];
  }
  return { options, words };
}

/** `claude mcp add --transport http NAME URL --header TEXT`, or the agent itself. */
async function runClaude(args) {
  return args[0] === "mcp" ? addServer(args) : askFirst();
}

/** Connects as the agent does when it starts, and prints the tools. */
async function addServer([, verb, ...rest]) {
  const { options, words } = readOptions(rest);
  const [[transport] = [], [header = ""] = []] = [options["--transport"], options["--header"]];
  if (verb !== "add" || transport !== "http") return refuse("only `mcp add --transport http`");
  const [, url] = words;
  const [, name, value] = /^([\w-]+): (.+)$/.exec(header) ?? [];
  const ask = async (method, params) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { [name]: value, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return response.ok ? (await response.json()).result : undefined;
  };
  const begun = await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {} });
  const listed = begun && (await ask("tools/list", {}));
  if (listed === undefined) return refuse(`${url} did not answer`);
  process.stdout.write(`tools: ${listed.tools.map((tool) => tool.name).join(", ")}\n`);
  return 0;
}

/** Asks what the agent would ask first, by what it is told in the environment. */
async function askFirst() {
  const { ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_API_KEY, ANTHROPIC_MODEL } =
    environment;
  const messages = [{ role: "user", content: "Hello" }];
  const response = await fetch(`${ANTHROPIC_BASE_URL}/v1/messages?beta=true`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${ANTHROPIC_AUTH_TOKEN ?? ANTHROPIC_API_KEY}`,
      "anthropic-version": "2023-06-01",
      "content-type": "application/json",
    },
    body: JSON.stringify({ model: ANTHROPIC_MODEL, max_tokens: 100, messages }),
  });
  const text = await response.text();
  process.stdout.write(`${text}\n`);
  const isAnswered = response.ok && JSON.parse(text).model === ANTHROPIC_MODEL;
  return isAnswered ? 0 : refuse(`${response.status}: ${ANTHROPIC_MODEL} did not answer`);
}

function refuse(reason) {
  process.stderr.write(`${reason}\n`);
  return 1;
}
