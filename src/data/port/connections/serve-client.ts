import type { Socket } from "node:net";
import {
  authenticationOk,
  backendKeyData,
  parameterStatus,
  readyForQuery,
} from "../protocol/backend-messages.ts";
import type { ServedSession, ServeSession } from "../session/served-session.ts";
import { closeClient, PARTING_MS } from "./close-client.ts";
import { ConnectionRefusal } from "./connection-refusal.ts";
import type { LoggedIn } from "./log-in.ts";
import type { OpenSessions } from "./open-sessions.ts";
import { type PortClock, runAt } from "./port-clock.ts";

interface ClientSockets {
  readonly client: Socket;
  /** The socket below TLS, or the same one. */
  readonly raw: Socket;
  readonly leftover: Buffer;
}

interface ServingServices {
  readonly serveSession: ServeSession;
  readonly sessions: OpenSessions;
  readonly clock: PortClock;
}

/** What a client is told of its own settings, where the session does not tell it. */
const REPORTED = ["application_name", "client_encoding", "DateStyle", "IntervalStyle", "TimeZone"];

/** Greets a client that has logged in and serves it until its session is over. Closes all that belongs to it. */
export async function serveClient(
  { client, raw, leftover }: ClientSockets,
  { principal, engine, held, parameters, leave, watch }: LoggedIn,
  { serveSession, sessions, clock }: ServingServices,
): Promise<void> {
  const key = sessions.createKey();
  const stops: (() => void)[] = [watch.stop];
  let parting: Buffer | undefined;
  try {
    watch.check(principal.id);
    client.write(greeting(reported(parameters, engine.parameters), key));
    const served = serveSession({
      client,
      principal,
      engine,
      receive: (receiver) => held.passTo(receiver, engine),
      leftover,
    });
    const end = endWithin(served, () => raw.destroy(), clock);
    stops.push(end.stop);
    stops.push(
      sessions.add(key, { principalId: principal.id, cancel: served.cancel, end: end.end }),
    );
    if (principal.expiresAt !== null) {
      stops.push(runAt(clock, principal.expiresAt, () => end.end("57P01", "The key has expired.")));
    }
    await served.done;
  } catch (thrown) {
    const isRefusal = thrown instanceof ConnectionRefusal;
    const refusal = isRefusal ? thrown : new ConnectionRefusal("XX000", "The session failed.");
    parting = refusal.toMessage();
  } finally {
    for (const stop of stops) stop();
    engine.close();
    leave();
    closeClient({ client, raw }, parting, clock);
  }
}

/** Ends a session once; a client that does not read is cut a second later. */
function endWithin(served: ServedSession, cut: () => void, clock: PortClock) {
  let stop: () => void = () => undefined;
  let isEnding = false;
  return {
    end: (code: string, message: string): void => {
      if (isEnding) return;
      isEnding = true;
      stop = clock.after(PARTING_MS, cut);
      served.end(code, message);
    },
    stop: () => stop(),
  };
}

function reported(
  asked: ReadonlyMap<string, string>,
  ofSession: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const own = [...asked].filter(([name]) => REPORTED.includes(name));
  return new Map([...own, ...ofSession]);
}

function greeting(
  parameters: ReadonlyMap<string, string>,
  { processId, secret }: { readonly processId: number; readonly secret: number },
): Buffer {
  return Buffer.concat([
    authenticationOk(),
    ...[...parameters].map(([name, value]) => parameterStatus(name, value)),
    backendKeyData(processId, secret),
    readyForQuery("I"),
  ]);
}
