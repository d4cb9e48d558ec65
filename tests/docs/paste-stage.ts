import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { callGateway } from "../support/clients/call-gateway.ts";
import { callHttp, logIn } from "../support/clients/http-session.ts";
import { commandOf } from "../support/processes/bundled-program.ts";
import { freePort } from "../support/processes/free-port.ts";
import {
  type ChangingToolServer,
  startChangingToolServer,
} from "../support/servers/changing-tool-server.ts";
import { placeMigratedDatabase } from "../support/servers/databases/prepared-database.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";
import {
  answer,
  startWebhookReceiver,
  type WebhookReceiver,
} from "../support/servers/webhook-receiver.ts";
import type { PastedLine } from "./shell-lines.ts";

const STAND_IN = resolve(import.meta.dirname, "stand-in.mjs");
/** What most lines start. */
const PROGRAMS = ["src", "scripts/backup", "scripts/restore", "scripts/license"].map(
  (folder) => `${folder}/main.ts`,
);
const STOOD_IN = ["npm", "bun", "docker", "claude"];
const FIRST_PASSWORD = "the password of the first start";
const NEW_PASSWORD = "the password that was chosen";
const EVENTUALLY_MS = 60_000;

const FIND_TICKET = {
  name: "find_ticket",
  description: "Finds a ticket by its number.",
  inputSchema: { type: "object", properties: { id: { type: "integer" } } },
  annotations: { readOnlyHint: true },
};

interface PasteEnd {
  readonly code: number | null;
  readonly output: string;
}

/** What starts each of these programs. */
type Commands = Readonly<Record<string, readonly string[]>>;

/** A server of its own, a shell that keeps its variables from line to line, and what documents name by a stand-in. */
export class PasteStage {
  readonly #folder: string;
  readonly #commands: string;
  readonly #simulator: TestSimulator;
  readonly #receiver: WebhookReceiver;
  readonly #toolServer: ChangingToolServer;
  readonly #dataPort: number;
  #gateway: TestGateway;
  #licenseKey = "";
  #block: string | undefined;
  /** What the lines of the block have printed. */
  #printed = "";
  /** Settings of the crontab. */
  readonly #cron = new Map<string, string>();

  private constructor(
    folder: string,
    parts: Omit<Parts, "folder"> & {
      /** Of the PostgreSQL port. */
      dataPort: number;
      gateway: TestGateway;
      toolServer: ChangingToolServer;
      commands: Commands;
    },
  ) {
    this.#folder = folder;
    this.#commands = JSON.stringify(parts.commands);
    this.#simulator = parts.simulator;
    this.#receiver = parts.receiver;
    this.#toolServer = parts.toolServer;
    this.#dataPort = parts.dataPort;
    this.#gateway = parts.gateway;
  }

  static async open(): Promise<PasteStage> {
    const folder = await mkdtemp(join(tmpdir(), "paste-"));
    const [simulator, receiver] = await Promise.all([startSimulator(), startWebhookReceiver()]);
    const toolServer = await startChangingToolServer(FIND_TICKET);
    receiver.use(answer(410));
    for (const name of ["gateway", "dev", "start", "container"]) {
      mkdirSync(join(folder, name), { mode: 0o700 });
      await placeMigratedDatabase(join(folder, name));
    }
    mkdirSync(join(folder, "backup"));
    writeStandIns(join(folder, "bin"));
    const dataPort = await freePort();
    const gateway = await startGateway(settingsOf({ folder, simulator, receiver }));
    const commands = Object.fromEntries(
      await Promise.all(PROGRAMS.map(async (name) => [name, await commandOf(name)] as const)),
    );
    const parts = { simulator, receiver, gateway, toolServer, commands, dataPort };
    return new PasteStage(folder, parts);
  }

  async close(): Promise<void> {
    await this.#gateway.stop();
    await Promise.all([this.#simulator, this.#receiver, this.#toolServer].map((one) => one.stop()));
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Runs a line as a reader would, who has put their own in the place of what is left open in it. */
  async run(line: PastedLine): Promise<PasteEnd> {
    const block = `${line.file} ${line.block}`;
    if (block !== this.#block) this.#printed = "";
    this.#block = block;
    const text = this.#fill(line);
    const end = await this.#runners[line.by](text);
    this.#printed += end.output;
    const made = /^LICENSE_PUBLIC_KEY=([\w-]{43})$/m.exec(end.output)?.[1];
    if (made !== undefined) await this.#startWithLicenseKey(made);
    return end;
  }

  /** An event that was given up: that a key has used up its month, which the receiver wants to know nothing of. */
  async leaveDeadEvent(): Promise<void> {
    const { url, port } = this.#gateway;
    const token = await logIn(url, "admin", NEW_PASSWORD);
    const body = { name: "spent", monthly_token_limit: 0 };
    const made = await callHttp(url, { method: "POST", path: "/v1/api-keys", token, body });
    const key = String(Reflect.get(Object(made.body), "key"));
    const headers = { authorization: `Bearer ${key}` };
    const asked = JSON.stringify({ messages: [{ role: "user", content: "Hello" }] });
    await callGateway(port, { path: "/v1/chat/completions", headers, body: asked });
    const until = Date.now() + EVENTUALLY_MS;
    for (;;) {
      const dead = await callHttp(url, { path: "/api/admin/events?state=dead", token });
      if (JSON.stringify(dead.body).includes("evt_")) break;
      if (Date.now() > until) throw new Error("no event was given up");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    this.#receiver.use(answer(204));
  }

  /** A first read is refused while the copy of the embedded database is being made. */
  async awaitDataCopy(): Promise<void> {
    const { url } = this.#gateway;
    const token = await logIn(url, "admin", NEW_PASSWORD);
    const until = Date.now() + 3 * EVENTUALLY_MS;
    for (;;) {
      const { status, body } = await callHttp(url, { path: "/v1/data/keys", token });
      if (status === 200) return;
      if (Date.now() > until) throw new Error(`data cannot be read: ${JSON.stringify(body)}`);
    }
  }

  /** The line with what a reader has instead of `…`, of example names and of the machine's own folders. */
  #fill({ file, line, text }: PastedLine): string {
    const filled = text
      .replace(/http:\/\/(?:127\.0\.0\.1|gateway):8080/g, this.#gateway.url)
      .replace(/http:\/\/gpu-box:\d+/g, this.#simulator.url)
      .replace(/http:\/\/tools-box:\d+\/mcp/g, this.#toolServer.url)
      .replaceAll("qwen3-32b", "sim-chat")
      .replaceAll("/opt/inference-gateway", process.cwd())
      .replace(/(?<=\s)\/backup\//g, `${this.#folder}/backup/`)
      .replaceAll("sk-…", TEST_KEY)
      .replaceAll("gateway.example.com port=5434", `127.0.0.1 port=${this.#dataPort}`)
      .replaceAll("bk-…", "$BI")
      .replace(/"new_password":"…"/, `"new_password":"${NEW_PASSWORD}"`)
      .replace(/"(current_)?password":"…"/, `"$1password":"${FIRST_PASSWORD}"`)
      .replace(/LICENSE_PUBLIC_KEY=…/, `LICENSE_PUBLIC_KEY=${this.#licenseKey}`)
      .replace(/\b(usr|key|evt|req)_…/g, (open, kind) => this.#firstId(kind) ?? open);
    if (/^[^#]*…/m.test(filled))
      throw new Error(`${file}:${line}: nothing stands for … in:\n${text}`);
    return filled;
  }

  /** The block itself shows where the id comes from. */
  #firstId(kind: string): string | undefined {
    return new RegExp(`\\b${kind}_[0-9A-Za-z]{8,}`).exec(this.#printed)?.[0];
  }

  readonly #runners: Readonly<Record<PastedLine["by"], (text: string) => Promise<PasteEnd>>> = {
    shell: (text) => this.#runInShell(text),
    cron: (text) => this.#runAsCron(text),
    runtime: (text) => this.#runProgram(text),
  };

  /** In a folder whose packages are those of the project. */
  #runProgram(text: string): Promise<PasteEnd> {
    const packages = join(this.#folder, "node_modules");
    if (!existsSync(packages)) symlinkSync(resolve("node_modules"), packages);
    const program = join(this.#folder, "program.mts");
    writeFileSync(program, text);
    const loader = process.versions["bun"] === undefined ? ["--import", "tsx"] : ["--no-env-file"];
    return this.#spawn([process.execPath, ...loader, program], { PATH: "/usr/bin:/bin" });
  }

  #runInShell(text: string): Promise<PasteEnd> {
    const variables = join(this.#folder, "variables");
    const script = `
      [ ! -e '${variables}' ] || . '${variables}'
      set -a -o pipefail
      ${text}
      code=$?
      export -p >'${variables}'
      exit $code`;
    const first = existsSync(variables) ? {} : { DATA_DIR: join(this.#folder, "gateway") };
    const PATH = `${join(this.#folder, "bin")}:/usr/bin:/bin`;
    return this.#spawn(["bash", "-c", script], { PATH, ...first });
  }

  /** As cron does: with hardly any environment, `%` as the end of the line, and the settings of the table itself. */
  async #runAsCron(text: string): Promise<PasteEnd> {
    const setting = /^(\w+)\s*=\s*(.*)$/.exec(text);
    if (setting !== null) {
      this.#cron.set(setting[1] ?? "", setting[2] ?? "");
      return { code: 0, output: "" };
    }
    const command = /^\s*(?:\S+\s+){5}(.*)$/s.exec(text)?.[1];
    if (command === undefined) return { code: 1, output: "this is no entry of a crontab" };
    const [shown = ""] = command.split(/(?<!\\)%/);
    const path = this.#cron.get("PATH") ?? "/usr/bin:/bin";
    // The reader's programs are where the table's PATH looks for them.
    const PATH = path.replace("/usr/local/bin", join(this.#folder, "bin"));
    const environment = { HOME: this.#folder, PATH, DATA_DIR: join(this.#folder, "gateway") };
    return this.#spawn(["sh", "-c", shown.replaceAll("\\%", "%")], environment);
  }

  #spawn([command = "", ...args]: readonly string[], environment: object): Promise<PasteEnd> {
    const child = spawn(command, args, {
      cwd: this.#folder,
      env: {
        HOME: this.#folder,
        STAND_IN_FOLDER: this.#folder,
        STAND_IN_PROGRAMS: this.#commands,
        ...environment,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes: Buffer) => {
        output += bytes.toString();
      });
    }
    return new Promise((done) => child.once("close", (code) => done({ code, output })));
  }

  /**
   * Whoever makes a key for licenses starts the gateway with it, and here with the PostgreSQL port too: documents name
   * that later, and its process and its copy of an embedded database take seconds at each start.
   */
  async #startWithLicenseKey(key: string): Promise<void> {
    this.#licenseKey = key;
    const { port } = this.#gateway;
    await this.#gateway.stop();
    const parts = { folder: this.#folder, simulator: this.#simulator, receiver: this.#receiver };
    this.#gateway = await startGateway({
      ...settingsOf(parts),
      LICENSE_PUBLIC_KEY: key,
      PORT: String(port),
      BIKEY_PG_PROXY_ENABLED: "1",
      BIKEY_PG_PROXY_PORT: String(this.#dataPort),
    });
  }
}

interface Parts {
  readonly folder: string;
  readonly simulator: TestSimulator;
  readonly receiver: WebhookReceiver;
}

function settingsOf({ folder, simulator, receiver }: Parts): Record<string, string> {
  return {
    DATA_DIR: join(folder, "gateway"),
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    EGRESS_ALLOW: "127.0.0.1",
    ADMIN_PASSWORD: FIRST_PASSWORD,
    ALERT_WEBHOOK_URL: `${receiver.url}/alerts`,
  };
}

/** In `bin`: what a document names and a test does not have, and a curl to which an error of the server is a failure. */
function writeStandIns(bin: string): void {
  mkdirSync(bin);
  const write = (name: string, command: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${command} "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  };
  for (const name of STOOD_IN) write(name, `'${process.execPath}' '${STAND_IN}' ${name}`);
  write("curl", "/usr/bin/curl --fail-with-body --silent --show-error");
}
