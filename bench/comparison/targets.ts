import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { BUN_SETTINGS } from "../../scripts/task/bun-settings.mjs";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import type { Address } from "../load/load-tools.ts";
import { type MeasuredProcess, startMeasured } from "../load/measured-process.ts";

/** Side by side, in this order: the model server itself, a bare proxy, the gateway. */
export const TARGET_NAMES = ["direct", "passThrough", "gateway"] as const;
export type TargetName = (typeof TARGET_NAMES)[number];
export type Target = Address & { readonly process: MeasuredProcess };

export interface Targets {
  readonly of: Readonly<Record<TargetName, Target>>;
  readonly database: "postgres" | "embedded";
  /** The URL of a real PostgreSQL. */
  readonly databaseUrl: string | undefined;
  /** DATA_DIR of the gateway. */
  readonly dataFolder: string;
  readonly stop: () => Promise<void>;
}

const KEY = "sk-benchmark0123456789abcdefghijklmnopqrstuvwxyz";
const BUN = process.versions["bun"] === undefined ? "bun" : process.execPath;
const LISTENING = /listening 127\.0\.0\.1:(\d+)/;
const READY = /"url":"http:\/\/127\.0\.0\.1:(\d+)".*"msg":"ready"/;

/** Starts all three, the gateway as a user would: its own process on Bun, with everything on. */
export async function startTargets(
  upstreamProgram: string,
  options: { readonly embedded: boolean; readonly logFolder: string },
): Promise<Targets> {
  const { embedded, logFolder } = options;
  const dataFolder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
  const cluster = embedded ? undefined : await startPostgresCluster();

  const upstream = await startMeasured(
    { name: "upstream", command: upstreamProgram, args: ["0"], ready: LISTENING },
    logFolder,
  );
  const address = `http://127.0.0.1:${upstream.port}`;
  const passThrough = await startMeasured(
    {
      name: "pass-through",
      command: BUN,
      args: ["bench/pass-through.ts"],
      env: { ...BUN_SETTINGS, UPSTREAM: address },
      ready: LISTENING,
    },
    logFolder,
  );
  const gateway = await startGateway({
    ...{ name: "gateway", dataFolder, logFolder },
    upstreamPort: upstream.port,
    databaseUrl: cluster?.url,
  });
  return {
    of: { direct: targetOf(upstream), passThrough: targetOf(passThrough), gateway },
    database: cluster ? "postgres" : "embedded",
    databaseUrl: cluster?.url,
    dataFolder,
    async stop() {
      for (const each of [gateway.process, passThrough, upstream]) await each.stop();
      await cluster?.remove();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}

export interface GatewayStart {
  /** Also the name of its log. */
  readonly name: string;
  /** The working tree whose gateway is started; this one by default. */
  readonly tree?: string | undefined;
  readonly upstreamPort: number;
  /** Undefined: the embedded database. */
  readonly databaseUrl: string | undefined;
  readonly dataFolder: string;
  readonly logFolder: string;
  /** Arguments for Bun itself. */
  readonly bunArguments?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a gateway on Bun with everything on. */
export async function startGateway(start: GatewayStart): Promise<Target> {
  const { name, tree, databaseUrl, bunArguments = [], env } = start;
  const started = await startMeasured(
    {
      name,
      command: BUN,
      args: [...bunArguments, "--no-env-file", "src/main.ts"],
      folder: tree,
      env: {
        ...BUN_SETTINGS,
        ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
        BOOTSTRAP_API_KEY: KEY,
        DATA_DIR: start.dataFolder,
        HOST: "127.0.0.1",
        PORT: "0",
        LLM_BACKEND: "vllm",
        LLM_BASE_URL: `http://127.0.0.1:${start.upstreamPort}`,
        ...env,
      },
      ready: READY,
    },
    start.logFolder,
  );
  return targetOf(started);
}

/** The model server and the bare proxy accept any key. */
function targetOf(process: MeasuredProcess): Target {
  return { port: process.port, key: KEY, process };
}

/** Creates a database beside the cluster's own and returns its URL. */
export async function createDatabase(clusterUrl: string, name: string): Promise<string> {
  const sql = postgres(clusterUrl, { max: 1 });
  await sql.unsafe(`create database ${name}`);
  await sql.end();
  const url = new URL(clusterUrl);
  url.pathname = `/${name}`;
  return url.href;
}
