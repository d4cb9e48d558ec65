import { createApp } from "./app.ts";
import { loadConfig } from "./config/load-config.ts";
import type { Settings } from "./config/settings.ts";
import { ServiceError } from "./core/service-error.ts";
import { buildDeps, type Deps } from "./deps.ts";
import { serve } from "./http/serve.ts";
import type { Server } from "./http/server.ts";
import { createLog, type Log } from "./lib/log.ts";
import { StartRefusal } from "./lib/start-refusal.ts";

/** A connection without a call under way is closed after this long without a byte. */
const QUIET_CONNECTION_SECONDS = 30;
/** After the drain, what is still open has this long to take in its last words. */
const LAST_WORDS_MS = 2_000;
/** Longest time for usage to reach the database at the end; the rest stays in the journal for the next start. */
const JOURNAL_DRAIN_MS = 3_000;

async function main(): Promise<void> {
  const { settings, retired } = loadConfig();
  const log = createLog(settings.LOG_LEVEL);
  if (retired.length > 0)
    log.warn({ settings: retired }, "settings of an earlier release are ignored");

  const deps = await buildDeps(settings, log);
  const server = await serve({
    host: settings.HOST,
    port: settings.PORT,
    quietSeconds: QUIET_CONNECTION_SECONDS,
    fetch: createApp(deps),
  });
  stopOnSignals(deps, server, log);
  announce(deps, settings, server.port);
}

/** The first signal drains, the second one leaves at once; the journal is safe on the disk either way. */
function stopOnSignals(deps: Deps, server: Server, log: Log): void {
  const onSignal = (signal: string) => {
    if (deps.stopping.signal.aborted) process.exit(1);
    log.info({ signal }, "stopping");
    stop(deps, server).then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, "the stop failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", () => onSignal("SIGTERM"));
  process.on("SIGINT", () => onSignal("SIGINT"));
}

async function stop(deps: Deps, server: Server): Promise<void> {
  deps.stopping.abort();
  const answered = server.stop();
  await Promise.race([answered, sleep(deps.settings.DRAIN_TIMEOUT_MS)]);
  deps.openCalls.abortAll(
    new ServiceError("overloaded", "The server is stopping; send the request again."),
  );
  await Promise.race([answered, sleep(LAST_WORDS_MS)]);
  server.close();
  await deps.close(JOURNAL_DRAIN_MS);
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs).unref());
}

/** Tells the operator where the service is and, once, the key it issued. */
function announce(deps: Deps, settings: Settings, port: number): void {
  const host = settings.HOST === "0.0.0.0" ? "127.0.0.1" : settings.HOST;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  deps.log.info({ url, version: deps.version, backend: settings.LLM_BACKEND }, "ready");
  const key = settings.DEV_API_KEY ?? deps.issuedKey;
  if (key === undefined) return;
  const docs = settings.GATEWAY_DOCS_ENABLED ? `The API reference is at ${url}/v1/docs\n` : "";
  process.stdout.write(
    `\nInference Gateway ${deps.version} answers at ${url}. This key is shown once; try it:\n\n` +
      `curl -N ${url}/v1/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' ` +
      `-d '{"stream":true,"messages":[{"role":"user","content":"Hello, who are you?"}]}'\n\n${docs}`,
  );
}

main().catch((error: unknown) => {
  // What an operator can mend is told in one text; anything else with its stack.
  const text =
    error instanceof StartRefusal ? error.message : String((error as Error)?.stack ?? error);
  process.stderr.write(`${text}\n`);
  process.exit(1);
});
