import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LedgerEntry } from "../../simulator/ledger.ts";
import type { Script } from "../../simulator/script.ts";
import { buildConsole } from "../../tests/console/support/built-console.ts";
import { sharedBrowser } from "../../tests/console/support/chromium.ts";
import { type ConsolePage, openConsolePage } from "../../tests/console/support/console-page.ts";
import { callHttp, logIn } from "../../tests/support/clients/http-session.ts";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import { startGateway, type Target } from "../comparison/targets.ts";
import { startMeasured } from "../load/measured-process.ts";

const PASSWORD = "bench-0123456789";
/** The name that the tools of the loads call it by. Its context holds whatever is written here. */
export const MODEL = "bench";
const EMBEDDER = "embedder";
const MODELS = [
  { name: MODEL, contextLength: 1_000_000, capabilities: ["completion"] },
  { name: EMBEDDER, contextLength: 8_192, capabilities: ["embedding"], dimensions: 256 },
];
const LOGS = "bench/results";

/** A gateway as a user starts it, in front of the simulator, with PostgreSQL and a browser. */
export interface ConsoleBench {
  readonly url: string;
  readonly gateway: Target;
  /** The session of the administrator. */
  readonly session: string;
  /** What the engine answers next. */
  readonly say: (script: Script) => Promise<void>;
  /** The last call of the engine; undefined before the first one since `say`. */
  readonly lastCall: () => Promise<LedgerEntry | undefined>;
  /** Calls the API as the administrator. Rejects when it is refused. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<Json>;
  /** Opens a tab of its own, with nothing in its cache, signed in as the administrator. */
  readonly openTab: () => Promise<ConsolePage>;
  readonly close: () => Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: what a bench reads of an answer it names itself
export type Json = any;

export async function openConsoleBench(): Promise<ConsoleBench> {
  const folder = mkdtempSync(join(tmpdir(), "console-bench-"));
  const cluster = await startPostgresCluster({ isDurable: true });
  if (cluster === undefined) throw new Error("this needs PostgreSQL");
  const models = join(folder, "models.json");
  writeFileSync(models, JSON.stringify(MODELS));
  const engine = await startEngine(models);
  const gateway = await startGateway({
    ...{ name: "gateway", dataFolder: folder, logFolder: LOGS, databaseUrl: cluster.url },
    upstreamPort: engine.port,
    env: {
      ...{ ADMIN_PASSWORD: PASSWORD, METRICS_ENABLED: "1" },
      ...{ EMBEDDING_MODEL: EMBEDDER, EGRESS_ALLOW: "127.0.0.1" },
    },
  });
  await buildConsole();
  const url = `http://127.0.0.1:${gateway.port}`;
  const session = await logIn(url, "admin", PASSWORD);
  const control = (method: string, path: string, body?: unknown) =>
    callHttp(`http://127.0.0.1:${engine.port}`, {
      ...{ method, path: `/__sim/${path}` },
      ...(body !== undefined && { body }),
    });
  return {
    ...{ url, gateway, session },
    async say(script) {
      await control("POST", "reset");
      await control("POST", "script", { match: { path: "/v1/chat/completions" }, ...script });
    },
    async lastCall() {
      const { body } = await control("GET", "ledger");
      const entries: readonly LedgerEntry[] = body.entries;
      return entries.findLast(({ path }) => path === "/v1/chat/completions");
    },
    async call(method, path, body) {
      const asked = { method, path, token: session, ...(body !== undefined && { body }) };
      const answer = await callHttp(url, asked);
      if (answer.status >= 300) throw new Error(`${method} ${path} was answered ${answer.text}`);
      return answer.body;
    },
    async openTab() {
      const tab = await openConsolePage(
        {
          url,
          async signIn(context) {
            const cookie = { name: "gateway_session", value: session, url };
            await context.addCookies([{ ...cookie, httpOnly: true, sameSite: "Strict" }]);
          },
        },
        { role: "administrator" },
      );
      // What tsx marks functions with is not there in a page.
      await tab.page.addInitScript("globalThis.__name ??= (each) => each");
      return tab;
    },
    async close() {
      await (await sharedBrowser()).close();
      await gateway.process.stop();
      await engine.stop();
      await cluster.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The simulator in a process of its own: its pace must not depend on what the bench does. */
function startEngine(models: string) {
  const onBun = process.versions["bun"] !== undefined;
  const simulator = ["simulator/main.ts", "--engine", "vllm", "--tokens-per-second", "0"];
  return startMeasured(
    {
      ...{ name: "simulator", command: process.execPath },
      args: [...(onBun ? [] : ["--import", "tsx"]), ...simulator, "--models", models],
      ready: /listening 127\.0\.0\.1:(\d+)/,
    },
    LOGS,
  );
}

/** Returns the value that a share of the values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
