import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { untilAborted } from "../until-aborted.ts";
import { parseAllowList } from "./egress-allow-list.ts";
import { EgressError } from "./egress-error.ts";
import { findAddresses, type ResolveHost, resolveHost } from "./egress-target.ts";

export interface SocketGuardOptions {
  /** Private hosts, addresses and CIDR ranges that are allowed. */
  readonly allow: readonly string[];
  readonly resolve?: ResolveHost;
}

/** A server that somebody else has named. */
export interface SocketTarget {
  /** A name, or an address in any notation. */
  readonly host: string;
  readonly port: number;
}

/**
 * Connects to servers that others have named. Resolves the name itself, checks every address and connects to exactly a
 * checked one, so that a name that resolves differently a moment later has no effect. Rejects with an `EgressError` or
 * with the reason of the signal.
 */
export type ConnectPinned = (target: SocketTarget, signal: AbortSignal) => Promise<Socket>;

/** The number of addresses of one host that are tried. */
const MOST_ADDRESSES = 4;
const NOT_OF_A_HOST = /[\s/:@?#\\]/;

export function createSocketGuard({
  allow,
  resolve = resolveHost,
}: SocketGuardOptions): ConnectPinned {
  const allowed = parseAllowList(allow);
  return async ({ host, port }, signal) => {
    signal.throwIfAborted();
    const finding = findAddresses(normalHost(host), allowed, resolve);
    // A name lookup cannot be cancelled.
    const addresses = await untilAborted(finding, signal);
    let failure: unknown;
    for (const address of addresses.slice(0, MOST_ADDRESSES)) {
      try {
        return await connectTo(address, port, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        failure = thrown;
      }
    }
    throw unreachable(failure);
  };
}

/**
 * Returns a host as a URL has it, because that parser knows all notations of an address, such as `0x7f.1`. Throws an
 * `EgressError` for a text that is no host.
 */
export function normalHost(host: string): string {
  const isBareIpv6 = isIP(host) === 6;
  const isBracketed = host.startsWith("[") && host.endsWith("]");
  if (isBareIpv6 || isBracketed || !NOT_OF_A_HOST.test(host)) {
    const url = `http://${isBareIpv6 ? `[${host}]` : host}`;
    if (URL.canParse(url)) {
      const { hostname, pathname, username } = new URL(url);
      if (hostname !== "" && pathname === "/" && username === "") return hostname;
    }
  }
  throw new EgressError("invalid_url", "its host is neither a name nor an address");
}

export interface SecureOptions {
  /** The host that the certificate has to name. */
  readonly host: string;
  /** False: any certificate will do. */
  readonly isVerified: boolean;
  /** Certificates of authorities in the place of the runtime's; for tests. */
  readonly authorities?: string | undefined;
  readonly signal: AbortSignal;
}

/** Makes a connection secure. Rejects with what TLS threw, or with the reason of the signal. */
export function secureSocket(
  socket: Socket,
  { host, isVerified, authorities, signal }: SecureOptions,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const leave = () => end(signal.reason);
    const end = (failure: unknown) => {
      signal.removeEventListener("abort", leave);
      secure.destroy();
      socket.destroy();
      reject(failure);
    };
    const secure = connectTls({ socket, ...tlsOptions(host, isVerified, authorities) });
    secure.once("secureConnect", () => {
      signal.removeEventListener("abort", leave);
      resolve(secure);
    });
    // It stays: an error without a listener would end the process.
    secure.on("error", end);
    secure.once("close", () => end(new EgressError("failed", "its server closed the connection")));
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
  });
}

function tlsOptions(host: string, isVerified: boolean, authorities: string | undefined) {
  const name = normalHost(host).replace(/^\[(.*)\]$/, "$1");
  return {
    // An address is no server name, but the certificate has to name it.
    ...(isIP(name) === 0 ? { servername: name } : { host: name }),
    rejectUnauthorized: isVerified,
    ...(authorities !== undefined && { ca: authorities }),
  };
}

function connectTo(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, noDelay: true });
    const end = (failure: unknown) => {
      signal.removeEventListener("abort", leave);
      socket.destroy();
      reject(failure);
    };
    const leave = () => end(signal.reason);
    socket.once("connect", () => {
      signal.removeEventListener("abort", leave);
      resolve(socket);
    });
    // It stays: an error without a listener would end the process.
    socket.on("error", end);
    signal.addEventListener("abort", leave, { once: true });
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "its server refuses connections on this port",
  ETIMEDOUT: "its server does not answer",
  EHOSTUNREACH: "its server cannot be reached from here",
  ENETUNREACH: "its server cannot be reached from here",
};

function unreachable(cause: unknown): EgressError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const text = REASONS[code] ?? "its server is unreachable or closed the connection";
  return new EgressError("failed", text, { cause });
}
