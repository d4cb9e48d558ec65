import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../../../bench/pass-through.ts", import.meta.url));

export interface PassThrough {
  readonly port: number;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

/** The bare proxy that the gateway is measured against, on Bun; undefined where there is none. */
export async function startPassThrough(upstream: string): Promise<PassThrough | undefined> {
  const bun = process.versions["bun"] === undefined ? "bun" : process.execPath;
  const child = spawn(bun, [PROGRAM], {
    // biome-ignore lint/style/noProcessEnv: a child needs the path
    env: { ...process.env, UPSTREAM: upstream, BUN_CONFIG_MAX_HTTP_REQUESTS: "65336" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
  let output = "";
  const port = await new Promise<number | undefined>((resolve) => {
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const found = /listening 127\.0\.0\.1:(\d+)/.exec(output)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    void ended.then(() => resolve(undefined));
  });
  if (port === undefined || child.pid === undefined) return undefined;
  return {
    port,
    pid: child.pid,
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
