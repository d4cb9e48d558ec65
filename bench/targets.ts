import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUN_SETTINGS } from "../scripts/task/bun-settings.mjs";
import { startPostgresCluster } from "../tests/support/servers/postgres-cluster.ts";
import type { Address } from "./load/load-tools.ts";
import { type MeasuredProcess, startMeasured } from "./load/measured-process.ts";

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
  const gateway = await startMeasured(
    {
      name: "gateway",
      command: BUN,
      args: ["--no-env-file", "src/main.ts"],
      env: {
        ...BUN_SETTINGS,
        ...(cluster ? { DATABASE_URL: cluster.url } : {}),
        BOOTSTRAP_API_KEY: KEY,
        DATA_DIR: dataFolder,
        HOST: "127.0.0.1",
        PORT: "0",
        LLM_BACKEND: "vllm",
        LLM_BASE_URL: address,
      },
      ready: READY,
    },
    logFolder,
  );
  const target = (process: MeasuredProcess) => ({ port: process.port, key: KEY, process });
  return {
    of: { direct: target(upstream), passThrough: target(passThrough), gateway: target(gateway) },
    database: cluster ? "postgres" : "embedded",
    databaseUrl: cluster?.url,
    dataFolder,
    async stop() {
      for (const each of [gateway, passThrough, upstream]) await each.stop();
      await cluster?.remove();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}
