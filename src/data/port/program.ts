import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { belongToParent } from "../../lib/worker/belong-to-parent.ts";
import type { PortConfig, ProcessConfig } from "../process/process-messages.ts";
import { type OpenedPort, openPort, type PortServices } from "./connections/open-port.ts";
import { systemPortClock } from "./connections/port-clock.ts";
import { openCopyEngine } from "./copy/copy-engine.ts";
import { serveFeed } from "./copy/serve-feed.ts";
import type { Engine } from "./engine.ts";
import { createTextCheck } from "./gate/check-text.ts";
import { openPostgresEngine } from "./postgres/postgres-engine.ts";
import { requireOwnLogin } from "./queries/own-login.ts";
import { serveRead } from "./queries/read-endpoint.ts";
import { createStatementReader } from "./queries/read-statement.ts";
import { ReadingPace } from "./reading-pace.ts";
import { createServeSession } from "./session/serve-session.ts";
import { openStdioControl, type StdioControl } from "./stdio-control.ts";

/** A port that could not be opened, because it is in use for example, is tried again so often. */
const PORT_RETRY_MS = 5_000;

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

// The data process: it reads data for clients of the PostgreSQL port and for `/v1/data`. The server starts it.
belongToParent();
const { config, control } = await openStdioControl();
await serve(config, control);

async function serve(config: ProcessConfig, control: StdioControl): Promise<void> {
  const checkText = createTextCheck();
  const copy = config.copy === null ? undefined : openCopyEngine(config.copy, { control });
  const engine: Engine =
    copy ??
    openPostgresEngine({
      now: Date.now,
      mostSessions: config.mostSessions ?? 0,
      mostRunning: config.mostRunning,
      failed: (thrown) =>
        control.log("warn", "a BI key's login at the database failed", causeFields(thrown)),
    });
  const pace = new ReadingPace();
  // The copy serves one reader at a time: whoever paused would hold up the others.
  if (copy === undefined) control.onCalls((lateMs) => pace.tell(lateMs));
  const reader = requireOwnLogin(createStatementReader({ engine, checkText, control, pace }));
  const answers: Record<string, Answer> = {
    "/read": (request, response) => serveRead(reader, request, response),
    ...(copy !== undefined && {
      "/copy": (request, response) => serveFeed(copy, request, response),
    }),
  };
  await listen(config.socketPath, answers);
  const serveSession = createServeSession({ check: checkText, control, clock: systemPortClock });
  const port =
    config.port === null
      ? undefined
      : await keepPort(config.port, { engine, control, serveSession });
  if (port === undefined) control.open(null, null);
  control.onStop(() => {
    reader.close();
    void Promise.resolve(port?.close())
      .then(() => engine.close())
      .finally(() => process.exit(0));
  });
}

/** Opens the port, or keeps trying, and reports what became of it each time that it changes. */
async function keepPort(
  config: PortConfig,
  services: Omit<PortServices, "control"> & { readonly control: StdioControl },
): Promise<Pick<OpenedPort, "close">> {
  let opened: OpenedPort = await openPort(config, services);
  services.control.open(opened.port, opened.failure);
  let timer: NodeJS.Timeout | undefined;
  const retry = async (): Promise<void> => {
    opened = await openPort(config, services);
    if (opened.failure === null) services.control.open(opened.port, null);
    else retryLater();
  };
  const retryLater = () => {
    timer = setTimeout(() => void retry(), PORT_RETRY_MS);
  };
  if (opened.failure !== null) retryLater();
  return {
    close() {
      clearTimeout(timer);
      return opened.close();
    },
  };
}

/** Serves the private socket. */
async function listen(path: string, answers: Readonly<Record<string, Answer>>): Promise<void> {
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ""];
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response).catch(() => response.destroy());
  });
  server.requestTimeout = 0;
  // A process that was killed leaves its socket's file, which nobody listens on.
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
}

function causeFields(thrown: unknown): Record<string, string | null> {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : null;
  return { code };
}
