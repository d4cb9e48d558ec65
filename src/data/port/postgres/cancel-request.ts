import { createConnection, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { int32 } from "../protocol/fields.ts";
import type { UpstreamAddress } from "./upstream-address.ts";

export interface BackendKey {
  readonly processId: number;
  readonly secret: number;
}

const LIMIT_MS = 5000;
const SSL_REQUEST = Buffer.concat([int32(8), int32(80_877_103)]);
const CANCEL_CODE = 80_877_102;
const ACCEPTED = "S".charCodeAt(0);

/**
 * Asks the server to cancel what a backend does, over a connection of its own. Resolves once the server has passed it
 * on, which it tells by closing; also when it cannot be reached, or after 5 seconds.
 */
export function requestCancel(address: UpstreamAddress, key: BackendKey): Promise<void> {
  const cancel = Buffer.concat([
    int32(16),
    int32(CANCEL_CODE),
    int32(key.processId),
    int32(key.secret),
  ]);
  return new Promise((resolve) => {
    const { host, port, ssl } = address;
    const socket = host.startsWith("/")
      ? createConnection(`${host}/.s.PGSQL.${port}`)
      : createConnection(port, host);
    const timer = setTimeout(() => socket.destroy(), LIMIT_MS);
    socket.on("error", () => undefined);
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    socket.once("connect", () => {
      if (ssl === false) sendAndWait(socket, cancel);
      else sendEncrypted(socket, address, cancel);
    });
  });
}

function sendEncrypted(socket: Socket, { host, ssl }: UpstreamAddress, cancel: Buffer): void {
  socket.write(SSL_REQUEST);
  socket.once("data", (answer) => {
    if (answer[0] !== ACCEPTED || ssl === false) return socket.destroy();
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const encrypted = connectTls({ ...ssl, ...servername, host, socket });
    encrypted.on("error", () => socket.destroy());
    encrypted.once("close", () => socket.destroy());
    encrypted.once("secureConnect", () => sendAndWait(encrypted, cancel));
    return undefined;
  });
}

function sendAndWait(socket: Socket, cancel: Buffer): void {
  socket.write(cancel);
  // The end is noticed only by who reads.
  socket.resume();
}
