import type { Socket } from "node:net";
import { clientNetwork, normalAddress } from "../../../lib/egress/ip-address.ts";
import type { ServeSession } from "../session/serve-session.ts";
import type { Certificate } from "./certificate.ts";
import { closeClient } from "./close-client.ts";
import { ClientGone, ConnectionRefusal, ForeignBytes } from "./connection-refusal.ts";
import { type LoginServices, logIn } from "./log-in.ts";
import { negotiate } from "./negotiate.ts";
import type { PortClock } from "./port-clock.ts";
import type { RefusalLog } from "./refusal-log.ts";
import { serveClient } from "./serve-client.ts";

export interface AcceptServices extends LoginServices {
  readonly serveSession: ServeSession;
  readonly certificate: Certificate;
  readonly refusals: RefusalLog;
  readonly clock: PortClock;
}

const LOGIN_MS = 10_000;
/** Of the gateway, to check the key and open a session: the embedded copy may have to be made first. */
const OPEN_MS = 15_000;

/**
 * Takes a new connection from its first byte to its session's end. Never rejects.
 *
 * @returns what refuses the client, as long as it has not logged in.
 */
export function acceptClient(raw: Socket, services: AcceptServices): (why: Error) => void {
  const address = normalAddress(raw.remoteAddress ?? "");
  raw.on("error", () => undefined);
  // It has left already.
  if (address === undefined) {
    raw.destroy();
    return () => undefined;
  }
  const start = new ClientStart(raw, clientNetwork(address), services);
  if (start.begin()) {
    run(start, address, services).catch((thrown: unknown) => start.refuse(thrown));
  }
  return (why) => start.refuse(why);
}

async function run(start: ClientStart, address: string, services: AcceptServices): Promise<void> {
  const { raw, network, signal } = start;
  const { client, reader, isEncrypted, packet } = await negotiate(
    raw,
    services.certificate.current,
    (spoken) => start.speak(spoken),
  );
  if (packet.kind === "cancel") {
    services.sessions.cancel(packet);
    start.finish();
    closeClient({ client, raw }, undefined, services.clock);
    return;
  }
  const asked = () => start.ask();
  const started = {
    ...{ client, reader, startup: packet, isEncrypted },
    ...{ address, network, signal, asked },
  };
  const loggedIn = await logIn(started, services);
  start.finish();
  await serveClient({ client, raw, leftover: reader.detach() }, loggedIn, services);
}

/** The time of a connection before its login: it has ten seconds, a place among those that start, and one refusal. */
class ClientStart {
  readonly raw: Socket;
  readonly network: string;
  readonly #services: AcceptServices;
  readonly #over = new AbortController();
  /** Whoever reads what is written; undefined while a handshake goes on. */
  #client: Socket | undefined;
  #isFinished = false;
  #stopLimit: () => void = () => undefined;
  #leave: () => void = () => undefined;

  constructor(raw: Socket, network: string, services: AcceptServices) {
    this.raw = raw;
    this.network = network;
    this.#services = services;
    this.#client = raw;
  }

  /** Aborts with ClientGone when the client has left or was refused. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Takes a place. False when the client was refused. */
  begin(): boolean {
    const { places, clock } = this.#services;
    this.raw.once("close", () => {
      this.#stopLimit();
      this.#leave();
      this.#over.abort(new ClientGone("the client has left"));
    });
    try {
      this.#leave = places.start(this.network, () => this.refuse(displaced()));
    } catch (thrown) {
      this.refuse(thrown);
      return false;
    }
    this.#client = undefined;
    this.#stopLimit = clock.after(LOGIN_MS, () => this.refuse(tooSlow()));
    return true;
  }

  /** Names whom to write a refusal to. */
  speak(client: Socket | undefined): void {
    this.#client = client;
  }

  /** The client has done its part, and waits for the gateway now. */
  ask(): void {
    if (this.#isFinished) return;
    this.#stopLimit();
    this.#stopLimit = this.#services.clock.after(OPEN_MS, () => this.refuse(notOpened()));
  }

  /** The start is over without a refusal. */
  finish(): void {
    this.#isFinished = true;
    this.#stopLimit();
    this.#leave();
  }

  /** Closes the connection, once, with a message where the client can read it. */
  refuse(thrown: unknown): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#stopLimit();
    this.#over.abort(new ClientGone("the client was refused"));
    if (thrown instanceof ClientGone) {
      this.raw.destroy();
      return;
    }
    const { control, refusals, clock } = this.#services;
    const refusal = thrown instanceof ConnectionRefusal ? thrown : failed();
    if (refusal !== thrown) {
      control.log("error", "a login to the PostgreSQL port failed", { reason: String(thrown) });
    }
    refusals.add(this.network, refusal);
    const client = refusal instanceof ForeignBytes ? undefined : this.#client;
    if (client === undefined) this.raw.destroy();
    else closeClient({ client, raw: this.raw }, refusal.toMessage(), clock);
  }
}

const displaced = (): ConnectionRefusal =>
  new ConnectionRefusal("53300", "Too many connections are logging in. Try again in some seconds.");

const tooSlow = (): ConnectionRefusal =>
  new ConnectionRefusal("57014", `The login took longer than ${LOGIN_MS / 1000} seconds.`);

const notOpened = (): ConnectionRefusal =>
  new ConnectionRefusal(
    "57P03",
    `The gateway opened no session within ${OPEN_MS / 1000} seconds.`,
    "Try again soon.",
  );

const failed = (): ConnectionRefusal =>
  new ConnectionRefusal("XX000", "The login failed. Try again; the gateway's log has the reason.");
