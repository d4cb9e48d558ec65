import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENT_GUIDES, type ClientGuide } from "../../src/console/lib/clients/snippets.ts";
import { callHttp, logIn } from "../support/clients/http-session.ts";
import { startGateway, type TestGateway } from "../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";

/** The programs of the clients that are no libraries. */
const PROGRAMS: Readonly<Record<string, string>> = {
  curl: "curl",
  "claude-code": "claude",
  codex: "codex",
  opencode: "opencode",
  cline: "cline",
  continue: "cn",
};
const LIMIT_MS = 180_000;
const ANSWER = "Hello from the gateway.";
const PASSWORD = "the administrator's own password";
const TERMINAL = "Terminal";

// biome-ignore lint/style/noProcessEnv: where the clients are belongs to the machine, not to the gateway
const { PATH = "", CLIENTS_PATH } = process.env;
/** Folders of programs. Agents are run where somebody says where they are: `CLIENTS_PATH`. */
const path = [...(CLIENTS_PATH === undefined ? [] : [CLIENTS_PATH]), ...PATH.split(delimiter)];

const isThere = ({ id, isAgent = false }: ClientGuide) => {
  const folders = isAgent ? (CLIENTS_PATH?.split(delimiter) ?? []) : path;
  return folders.some((folder) => existsSync(join(folder, PROGRAMS[id] ?? "")));
};
const guides = CLIENT_GUIDES.filter(({ id }) => PROGRAMS[id] !== undefined);

describe("clients, with what the console gives to copy", () => {
  let simulator: TestSimulator;
  let gateway: TestGateway;
  let home: string;
  let token: string;

  beforeAll(async () => {
    simulator = await startSimulator();
    gateway = await startGateway({
      ...{ LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url, ADMIN_PASSWORD: PASSWORD },
    });
    token = await logIn(gateway.url, "admin", PASSWORD);
  });
  afterAll(async () => {
    await gateway?.stop();
    await simulator?.stop();
  });

  for (const guide of guides) {
    it.skipIf(!isThere(guide))(
      `${guide.name} makes a call that arrives, with each text as it is`,
      async () => {
        home = await mkdtemp(join(tmpdir(), "client-"));
        simulator.reset();
        simulator.script({
          match: { path: "/v1/chat/completions" },
          text: ANSWER,
          times: "always",
        });
        const { body: key } = await callHttp(gateway.url, {
          ...{ method: "POST", path: "/v1/api-keys", token },
          body: { name: guide.id, passthrough: guide.isAgent === true },
        });
        const ended = await follow(guide, key.key);
        expect(ended).toMatchObject({ code: 0, text: expect.stringContaining(ANSWER) });
        const calls = await requestsOf(key.id);
        expect(calls.length).toBeGreaterThan(0);
        expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200]));
        await rm(home, { recursive: true, force: true });
      },
      LIMIT_MS,
    );
  }

  /** Writes the files to where they belong, in a home of their own, and runs the commands. */
  const follow = async ({ snippets }: ClientGuide, key: string) => {
    const model = { model: "sim-chat", context: 32_768, output: null };
    const project = join(home, "project");
    await mkdir(project);
    let ended = { code: null as number | null, text: "" };
    for (const { place, text } of snippets({ origin: gateway.url, ...model, key })) {
      if (place === TERMINAL) ended = await runInShell(text, project);
      else {
        const file = place.startsWith("~/") ? join(home, place.slice(2)) : join(project, place);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, text);
      }
    }
    return ended;
  };
  const runInShell = async (script: string, folder: string) => {
    const child = spawn("bash", ["-ec", script], {
      cwd: folder,
      env: { HOME: home, PATH: path.join(delimiter), TERM: "dumb", NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: LIMIT_MS,
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => (text += chunk));
    }
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, text };
  };
  const requestsOf = async (keyId: string): Promise<readonly { readonly status: number }[]> => {
    const path = `/api/requests?key_id=${keyId}`;
    const read = async () => (await callHttp(gateway.url, { path, token })).body.data;
    await expect.poll(async () => (await read()).length).toBeGreaterThan(0);
    return read();
  };
});
