import type { Duplex } from "node:stream";
import { within } from "../../../lib/time/within.ts";
import type { Admission, Principal } from "../../principal.ts";
import type { Control } from "../control.ts";
import { type Engine, EngineRefusal, type EngineSession } from "../engine.ts";
import { authenticationCleartextPassword } from "../protocol/backend-messages.ts";
import type { ConnectionPlaces, Leave } from "./connection-places.ts";
import { ConnectionRefusal, ForeignBytes, protocolViolation } from "./connection-refusal.ts";
import { HeldReceiver } from "./held-receiver.ts";
import type { LoginBrake } from "./login-brake.ts";
import type { LoginWatch, OpenSessions } from "./open-sessions.ts";
import { negotiateProtocolVersion, type Startup } from "./start-packets.ts";
import { checkTimeout, readStartParameters } from "./start-parameters.ts";
import type { StartReader } from "./start-reader.ts";

export interface LoginServices {
  readonly engine: Engine;
  readonly control: Control;
  readonly places: ConnectionPlaces;
  readonly brake: LoginBrake;
  readonly sessions: OpenSessions;
  /** BIKEY_PG_PLAIN */
  readonly isPlainAllowed: boolean;
}

/** A client that has sent its StartupMessage. */
export interface StartedClient {
  readonly client: Duplex;
  readonly reader: StartReader;
  readonly startup: Startup;
  readonly isEncrypted: boolean;
  readonly address: string;
  /** The client's address, or the network of an IPv6 one. */
  readonly network: string;
  /** Aborts when the client has left or its time is over. */
  readonly signal: AbortSignal;
  /** Called once the client has sent all that it must. */
  readonly asked: () => void;
}

/** A session that is open for a client; whoever gets it closes it and gives the place back. */
export interface LoggedIn {
  readonly principal: Principal;
  readonly engine: EngineSession;
  readonly held: HeldReceiver;
  readonly parameters: ReadonlyMap<string, string>;
  readonly leave: Leave;
  /** Goes on until the session can be ended. */
  readonly watch: LoginWatch;
}

const PASSWORD_BYTES_MAX = 8_192;
const HEAD_BYTES = 5;
/** The server answers in milliseconds or not at all. */
const ANSWER_MS = 10_000;
const LOOPBACK = /^(?:127\.|::1$)/;

/** Asks a client for its key and opens its session. Rejects with a ConnectionRefusal, or with ClientGone. */
export async function logIn(started: StartedClient, services: LoginServices): Promise<LoggedIn> {
  const { client, reader, startup, signal } = started;
  const { minor, unknownOptions } = startup;
  if (minor > 0 || unknownOptions.length > 0) {
    client.write(negotiateProtocolVersion(unknownOptions));
  }
  refusePlain(started, services.isPlainAllowed);
  const parameters = readStartParameters(startup.parameters);
  services.places.refuseWhenFull();
  client.write(authenticationCleartextPassword());
  const secret = await readPassword(reader);
  started.asked();
  const checked = services.places.check();
  const watch = services.sessions.watchLogin();
  try {
    const { principal, login } = await admit(secret, started, services).finally(checked);
    watch.check(principal.id);
    checkTimeout(parameters, principal);
    const leave = services.places.take(principal);
    const held = new HeldReceiver();
    try {
      const engine = await services.engine.open({ principal, login, parameters }, held);
      if (signal.aborted) engine.close();
      signal.throwIfAborted();
      return { principal, engine, held, parameters, leave, watch };
    } catch (thrown) {
      leave();
      throw toRefusal(thrown);
    }
  } catch (thrown) {
    watch.stop();
    throw thrown;
  }
}

/** A password must not cross a network in the clear, so that it is not asked for there. */
function refusePlain({ isEncrypted, address }: StartedClient, isPlainAllowed: boolean): void {
  if (isEncrypted || isPlainAllowed || LOOPBACK.test(address)) return;
  throw new ConnectionRefusal(
    "28000",
    "This connection requires TLS.",
    "Connect with sslmode=require, or what your client calls it.",
  );
}

async function readPassword(reader: StartReader): Promise<string> {
  const head = await reader.read(HEAD_BYTES);
  if (head.toString("latin1", 0, 1) !== "p") {
    throw protocolViolation("A password was expected.");
  }
  const bytes = head.readInt32BE(1) - 4;
  if (bytes < 1 || bytes > PASSWORD_BYTES_MAX) {
    throw new ForeignBytes("The message with the password has a wrong length.");
  }
  const body = await reader.read(bytes);
  if (body.indexOf(0) !== body.length - 1) {
    throw protocolViolation("The message with the password is malformed.");
  }
  return body.toString("utf8", 0, body.length - 1);
}

async function admit(
  secret: string,
  { address, network, signal }: StartedClient,
  { brake, control, places }: LoginServices,
): Promise<Extract<Admission, { principal: Principal }>> {
  const ask = async (): Promise<Admission> => {
    const refusal = refuseWithoutServer(secret);
    if (refusal !== undefined) return { refusal };
    // Of a thousand that come at once most have waited for their turn, and all places are taken since.
    places.refuseWhenFull();
    return within(control.login(secret, address), ANSWER_MS, () => new Error("no answer"));
  };
  const admission = await brake.attempt(network, ask, signal).catch((cause: unknown) => {
    if (cause instanceof ConnectionRefusal) throw cause;
    signal.throwIfAborted();
    throw new ConnectionRefusal("57P03", "The gateway cannot check the key now. Try again soon.");
  });
  if (admission.refusal === undefined) return admission;
  const { code, message, hint } = admission.refusal;
  throw new ConnectionRefusal(code, message, hint);
}

function refuseWithoutServer(secret: string) {
  const hint = "Use a BI key, which begins with bk-, as the password. Any user name will do.";
  if (secret === "") return { code: "28P01", message: "The password is empty.", hint };
  if (!secret.startsWith("sk-")) return undefined;
  return { code: "28P01", message: "An sk- key is for models and does not read data.", hint };
}

function toRefusal(thrown: unknown): unknown {
  if (!(thrown instanceof EngineRefusal)) return thrown;
  return new ConnectionRefusal(thrown.code, thrown.message, thrown.hint);
}
