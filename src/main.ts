import { appendFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import type { FirstSecrets } from "./access/first-start.ts";
import { type App, createApp } from "./app.ts";
import { engineAddresses } from "./backends/upstream/local-upstream.ts";
import { loadConfig } from "./config/load-config.ts";
import type { Settings } from "./config/settings.ts";
import { buildDeps, type Deps } from "./deps.ts";
import { drainServer } from "./http/server/drain-server.ts";
import { serve } from "./http/server/serve.ts";
import type { ServeOptions, Server } from "./http/server/server.ts";
import { createStartingAnswer } from "./http/server/while-starting.ts";
import { startJobs } from "./jobs.ts";
import { makeFolder } from "./lib/folders/make-folder.ts";
import { StartRefusal } from "./lib/folders/start-refusal.ts";
import { createLog, type Log } from "./lib/log.ts";
import { endOnFaults } from "./lib/process/end-on-faults.ts";
import { type LogOutput, openLogOutput } from "./lib/process/log-output.ts";
import { exitCodeOf, type StopListener, StopRequests } from "./lib/process/stop-requests.ts";
import { repeat } from "./lib/time/repeat.ts";
import { within } from "./lib/time/within.ts";

/** A connection without a call in progress is closed after this time without a byte. */
const QUIET_CONNECTION_SECONDS = 30;
/** The maximum time for writing usage to the database at the end; the rest stays in the journal for the next start. */
const JOURNAL_DRAIN_MS = 3_000;
/** After a drain that took all of its time, everything must be closed within this time. */
const CLOSE_MS = 1_600;
/** After a drain that took all of its time, a stop that hangs is abandoned after this time. */
const HARD_STOP_MS = 5_000;
const JOURNAL_SYNC_MS = 1_000;
const LOG_FLUSH_MS = 250;
/** The name of the file in DATA_DIR. */
const FIRST_START_FILE = "first-start.txt";
/** The pause between two checks whether a started server is ready. */
const READY_POLL_MS = 1_000;

interface Running {
  readonly app: App;
  readonly server: Server;
  readonly jobs: { readonly stop: () => void };
}

async function main(): Promise<void> {
  const config = loadConfig();
  const output = openLogOutput();
  try {
    await start(config, output);
  } catch (thrown) {
    // What was logged before may have the reason.
    await output.flush(LOG_FLUSH_MS);
    throw thrown;
  }
}

async function start(
  { settings, retired, unknown }: ReturnType<typeof loadConfig>,
  output: LogOutput,
): Promise<void> {
  const log = createLog(settings.LOG_LEVEL, output);
  endOnFaults(log, output);
  if (retired.length > 0)
    log.warn({ settings: retired }, "settings of an earlier release are ignored");
  for (const { name, meant } of unknown) {
    const question = meant === undefined ? "" : `; did you mean ${meant}?`;
    log.warn({ setting: name }, `${name} is set but is not a setting of this program${question}`);
  }

  // The port is bound first, so that a start without it creates no database and no secrets.
  let answer: ServeOptions["fetch"] = createStartingAnswer({
    version: packageJson.version,
    settings,
  });
  const server = await serve({
    host: settings.HOST,
    port: settings.PORT,
    quietSeconds: QUIET_CONNECTION_SECONDS,
    fetch: (request, connection) => answer(request, connection),
    onScarce: (isScarce) => tellOfDescriptors(log, isScarce),
  });
  let secrets: FirstSecrets = {};
  // They are in the database already, and no later start can show them.
  const showMadeSecrets = () => showSecrets(secretsText(secrets), { settings, log, output });
  const stops = new StopRequests((signal) => {
    log.info({ signal }, "stopped before the start was complete");
    void showMadeSecrets()
      .then(() => output.flush(LOG_FLUSH_MS))
      .then(() => process.exit(exitCodeOf(signal)));
  });
  try {
    const deps = await buildDeps(settings, log, (made) => {
      secrets = made;
    });
    const app = createApp(deps);
    answer = app.fetch;
    const running = { app, server, jobs: startJobs(deps) };
    stops.tell(stopInSteps(deps, { output, stop: () => stop(deps, running) }));
    output.write(announce(deps, server.port));
    await showMadeSecrets();
    tellWhenReady(deps, server.port);
  } catch (thrown) {
    await showMadeSecrets();
    throw thrown;
  }
}

/**
 * Handles requests to stop: the first one drains, and the second one exits as soon as the journal is on the disk. The next
 * start completes an unfinished stop, as after a crash.
 */
function stopInSteps(
  deps: Deps,
  { stop, output }: { readonly stop: () => Promise<void>; readonly output: LogOutput },
): StopListener {
  const { log, settings } = deps;
  const leave = async (code: number) => {
    await output.flush(LOG_FLUSH_MS);
    process.exit(code);
  };
  const leaveNow = async () => {
    await within(deps.syncJournal(), JOURNAL_SYNC_MS, () => new Error("the time is over")).catch(
      (error: unknown) =>
        log.error({ err: error }, "the usage journal may not have reached the disk"),
    );
    await leave(1);
  };
  return (signal, isFirst) => {
    if (!isFirst) {
      log.warn({ signal }, "second stop signal; stopping immediately");
      void leaveNow();
      return;
    }
    log.info({ signal }, "stopping");
    setTimeout(() => {
      log.error("the stop timed out; exiting with unfinished work");
      void leaveNow();
    }, settings.DRAIN_TIMEOUT_MS + HARD_STOP_MS);
    stop().then(
      () => {
        log.info("stopped");
        return leave(0);
      },
      (error: unknown) => {
        log.error({ err: error }, "the stop failed");
        return leave(1);
      },
    );
  };
}

async function stop(deps: Deps, { app, server, jobs }: Running): Promise<void> {
  const { openCalls, settings, log } = deps;
  const drainMs = settings.DRAIN_TIMEOUT_MS;
  const endsAt = performance.now() + drainMs + CLOSE_MS;
  deps.stopping.abort();
  jobs.stop();
  await drainServer({ server, openCalls, drainMs, underWay: app.underWay });
  const leftMs = Math.max(0, endsAt - performance.now());
  const closing = deps.close(Math.min(JOURNAL_DRAIN_MS, leftMs / 2));
  await within(closing, leftMs, () => new Error("something to be closed does not answer")).catch(
    async (error: unknown) => {
      await deps.syncJournal();
      log.warn({ err: error }, "the stop timed out; the next start will clean up");
    },
  );
}

function tellOfDescriptors(log: Log, isScarce: boolean): void {
  if (isScarce) {
    log.warn(
      "90% of the process's file descriptors are in use; new connections are refused. Raise the limit (ulimit -n), " +
        "or start another replica",
    );
  } else log.info("new connections are accepted again");
}

/** Returns the address under which a client on this machine reaches the server. */
function urlOf({ HOST: host }: Pick<Settings, "HOST">, port: number): string {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}

/** Logs once when calls can be answered, as `/api/ready` reports it, and until then the failing checks. */
function tellWhenReady({ log, readiness, settings, stopping, version }: Deps, port: number): void {
  let missing = "";
  const looking = repeat(
    READY_POLL_MS,
    async () => {
      const { ready, failed } = await readiness();
      if (stopping.signal.aborted) return looking.stop();
      if (ready) {
        looking.stop();
        log.info({ url: urlOf(settings, port), version, backend: settings.LLM_BACKEND }, "ready");
      } else if (failed.join() !== missing) {
        missing = failed.join();
        log.warn({ failed }, "not ready yet; GET /api/ready says what to do");
      }
    },
    0,
  );
}

/** Logs the address of the service. Returns a text to print, which for `dev` contains an example call. */
function announce(deps: Deps, port: number): string {
  const { settings } = deps;
  const url = urlOf(settings, port);
  deps.log.info(
    {
      url,
      address: `${settings.HOST}:${port}`,
      tls: "none: clients beyond this machine need a proxy in front that has it",
      engine: engineAddresses(settings),
      backend: settings.LLM_BACKEND,
      version: deps.version,
    },
    "listening",
  );
  const key = settings.DEV_API_KEY;
  if (key === undefined) return "";
  return `\nInference Gateway ${deps.version} answers at ${url}.\n\n${trialCall(url, key, settings)}`;
}

/** Returns the secrets that no later start can show, as text. */
function secretsText({ issuedKey, adminPassword }: FirstSecrets): string {
  const texts = [
    ...(issuedKey === undefined ? [] : [`This key is shown once: ${issuedKey}\n`]),
    ...(adminPassword === undefined
      ? []
      : [
          `The user admin logs in with the password ${adminPassword}\n` +
            "It is shown once, and has to be changed at the first login.\n",
        ]),
  ];
  return texts.join("");
}

/**
 * Shows the secrets: on a terminal as text, elsewhere in a file for this user only, because logs there are collected
 * and stored.
 */
async function showSecrets(
  text: string,
  { settings, log, output }: { settings: Settings; log: Log; output: LogOutput },
): Promise<void> {
  if (text === "") return;
  if (process.stdout.isTTY) return output.write(`\n${text}`);
  const file = resolve(settings.DATA_DIR, FIRST_START_FILE);
  try {
    await makeFolder(dirname(file));
    await appendFile(file, text, { mode: 0o600 });
    log.warn({ file }, "the first secrets are in this file: read it, then delete it");
  } catch (thrown) {
    log.error(
      { err: thrown, file },
      "the first secrets could not be written to that file and follow here",
    );
    output.write(text);
  }
}

function trialCall(url: string, key: string, settings: Settings): string {
  const docs = settings.GATEWAY_DOCS_ENABLED ? `The API reference is at ${url}/v1/docs\n` : "";
  return (
    `This key is shown once; try it:\n\n` +
    `curl -N ${url}/v1/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' ` +
    `-d '{"stream":true,"messages":[{"role":"user","content":"Hello, who are you?"}]}'\n\n${docs}`
  );
}

main().catch((error: unknown) => {
  // An error that an operator can fix is printed as one text, any other with its stack.
  const text =
    error instanceof StartRefusal ? error.message : String((error as Error)?.stack ?? error);
  process.stderr.write(`${text}\n`);
  process.exit(1);
});
