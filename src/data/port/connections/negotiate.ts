import type { Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import { ClientGone, ForeignBytes, protocolViolation } from "./connection-refusal.ts";
import { readStartPacket, type StartPacket } from "./start-packets.ts";
import { StartReader } from "./start-reader.ts";

/** A client whose encryption is settled. */
export interface Negotiated {
  /** The socket itself, or TLS over it. */
  readonly client: Socket;
  readonly reader: StartReader;
  readonly isEncrypted: boolean;
  readonly packet: Extract<StartPacket, { kind: "cancel" | "startup" }>;
}

/** The first byte of a TLS handshake; no packet of PostgreSQL is as long as it would say. */
const TLS_HANDSHAKE = 0x16;
const ALPN = "postgresql";
const YES = Buffer.from("S");
const NO = Buffer.from("N");

/**
 * Reads a client's start as far as its CancelRequest or its StartupMessage, with TLS when it asks for that. Rejects with
 * a ConnectionRefusal, or with ClientGone.
 *
 * @param secureContext is read for each TLS connection.
 * @param speak is called with who reads errors from now on; undefined while a handshake goes on.
 */
export async function negotiate(
  raw: Socket,
  secureContext: () => Promise<SecureContext>,
  speak: (client: Socket | undefined) => void,
): Promise<Negotiated> {
  const reader = new StartReader(raw);
  const [first] = await reader.peek(1);
  if (first === TLS_HANDSHAKE) {
    const context = await secureContext();
    raw.unshift(reader.detach());
    const client = await startTls(raw, context);
    speak(client);
    if (client.alpnProtocol !== ALPN) {
      throw protocolViolation(`Direct TLS needs the ALPN protocol "${ALPN}".`);
    }
    return inside(client);
  }
  speak(raw);
  let isGssRefused = false;
  for (;;) {
    const packet = await readStartPacket(reader);
    if (packet.kind === "tls") {
      const context = await secureContext();
      refuseHeldBytes(reader);
      reader.detach();
      raw.write(YES);
      speak(undefined);
      const client = await startTls(raw, context);
      speak(client);
      return inside(client);
    }
    if (packet.kind !== "gss") return { client: raw, reader, isEncrypted: false, packet };
    if (isGssRefused) throw new ForeignBytes("GSS encryption was asked for twice.");
    isGssRefused = true;
    refuseHeldBytes(reader);
    raw.write(NO);
  }
}

/** Bytes that came before the encryption may be somebody else's, and must never count as the client's. */
function refuseHeldBytes(reader: StartReader): void {
  if (reader.heldBytes === 0) return;
  throw new ForeignBytes("Bytes without encryption followed the request for encryption.");
}

async function inside(client: TLSSocket): Promise<Negotiated> {
  const reader = new StartReader(client);
  const packet = await readStartPacket(reader);
  if (packet.kind === "tls" || packet.kind === "gss") {
    throw new ForeignBytes("Encryption was asked for inside of TLS.");
  }
  return { client, reader, isEncrypted: true, packet };
}

/** Rejects with a ConnectionRefusal when the handshake fails. */
function startTls(raw: Socket, secureContext: SecureContext): Promise<TLSSocket> {
  const client = new TLSSocket(raw, { isServer: true, secureContext, ALPNProtocols: [ALPN] });
  return new Promise((resolve, reject) => {
    client.once("secure", () => resolve(client));
    client.on("error", (cause) => reject(handshakeFailure(cause)));
    client.once("close", () => reject(new ClientGone("the client has left")));
  });
}

function handshakeFailure(cause: NodeJS.ErrnoException): Error {
  const isOfSocket = cause.syscall !== undefined || cause.code === "ECONNRESET";
  if (isOfSocket) return new ClientGone("the client has left", { cause });
  return new ForeignBytes(`The TLS handshake failed (${cause.code ?? "no reason"}).`);
}
