import { createServer, type Server, type Socket } from "node:net";
import type { PortConfig } from "../../process/process-messages.ts";
import type { Control } from "../control.ts";
import type { Engine } from "../engine.ts";
import type { ServeSession } from "../session/served-session.ts";
import { type AcceptServices, acceptClient } from "./accept-client.ts";
import { openCertificate } from "./certificate.ts";
import { PARTING_MS } from "./close-client.ts";
import { ConnectionPlaces } from "./connection-places.ts";
import { ConnectionRefusal } from "./connection-refusal.ts";
import { LoginBrake } from "./login-brake.ts";
import { OpenSessions } from "./open-sessions.ts";
import { type PortClock, systemPortClock } from "./port-clock.ts";
import { RefusalLog } from "./refusal-log.ts";

export interface PortServices {
  readonly engine: Engine;
  readonly control: Control;
  readonly serveSession: ServeSession;
  readonly clock?: PortClock;
}

export type OpenedPort =
  | {
      /** The port that is listened on. */
      readonly port: number;
      readonly failure: null;
      /** Ends all connections with 57P01, within about a second. Does not close the engine. */
      readonly close: () => Promise<void>;
    }
  | {
      readonly port: null;
      /** Why the port is not open, and what to do. */
      readonly failure: string;
      readonly close: () => Promise<void>;
    };

/** Idle connections through firewalls stay open, and clients that are gone are noticed. */
const KEEP_ALIVE_MS = 60_000;
const BACKLOG = 1_024;
const ACCEPT_LOG_MS = 60_000;

/** Opens the PostgreSQL port. Never rejects: what went wrong is its `failure`. */
export async function openPort(config: PortConfig, services: PortServices): Promise<OpenedPort> {
  const { engine, control, serveSession, clock = systemPortClock } = services;
  try {
    const certificate = await openCertificate(config, { control, clock });
    const sessions = new OpenSessions();
    const { isPlainAllowed, maxConnections } = config;
    const places = new ConnectionPlaces(maxConnections, control.connections);
    const brake = new LoginBrake(clock);
    const refusals = new RefusalLog(control, clock);
    const opened = await listen(config, {
      ...{ engine, control, serveSession, clock, certificate },
      ...{ sessions, places, brake, refusals, isPlainAllowed },
    });
    // Not before: a port in use is tried again and again, and each try would leave its listener.
    control.onEnd((principalIds, reason) => sessions.end(principalIds, reason));
    return opened;
  } catch (thrown) {
    const failure = failureText(thrown, config);
    return { port: null, failure, close: async () => undefined };
  }
}

async function listen(config: PortConfig, services: AcceptServices): Promise<OpenedPort> {
  const open = new Map<Socket, (why: Error) => void>();
  const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
  const server = createServer(options, (raw) => {
    raw.once("close", () => open.delete(raw));
    open.set(raw, acceptClient(raw, services));
    if (raw.destroyed) open.delete(raw);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: config.host, port: config.port, backlog: BACKLOG }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  logAcceptErrors(server, services);
  const bound = server.address();
  return {
    port: typeof bound === "object" && bound !== null ? bound.port : config.port,
    failure: null,
    close: () => close(server, open, services),
  };
}

/** A connection that cannot be accepted, such as for want of descriptors, must not end the process. */
function logAcceptErrors(server: Server, { control, clock }: AcceptServices): void {
  let logAt = 0;
  server.on("error", ({ message }) => {
    if (clock.now() < logAt) return;
    logAt = clock.now() + ACCEPT_LOG_MS;
    control.log("error", "the PostgreSQL port cannot accept a connection", { reason: message });
  });
}

async function close(
  server: Server,
  open: ReadonlyMap<Socket, (why: Error) => void>,
  { sessions, clock }: AcceptServices,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const reason = "The gateway is stopping. Connect again.";
  for (const refuse of open.values()) refuse(new ConnectionRefusal("57P01", reason));
  sessions.end("all", reason);
  // Both partings may follow each other: that of the session, and that of the socket.
  const stop = clock.after(PARTING_MS + PARTING_MS / 2, () => {
    for (const raw of [...open.keys()]) raw.destroy();
  });
  await closed;
  stop();
}

function failureText(thrown: unknown, { host, port }: PortConfig): string {
  const { code, message } = thrown as NodeJS.ErrnoException;
  const where = `The PostgreSQL port cannot be opened on ${host}:${port}`;
  switch (code) {
    case "EADDRINUSE":
      return `${where}: the port is in use. Stop what listens there, or set BIKEY_PG_PROXY_PORT.`;
    case "EACCES":
      return `${where}: the port needs rights. Set BIKEY_PG_PROXY_PORT to one above 1023.`;
    case "EADDRNOTAVAIL":
      return `${where}: this machine does not have the address. Set HOST to one that it has.`;
    default:
      return `The PostgreSQL port cannot be opened: ${message}`;
  }
}
