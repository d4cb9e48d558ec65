import type { Socket } from "node:net";
import type { PortClock } from "./port-clock.ts";

/** How long a client may take to read why it is closed. */
export const PARTING_MS = 1_000;
/** What it may still send meanwhile; a socket closed with unread bytes loses what it was sent. */
const PARTING_BYTES = 65_536;

/**
 * Writes last bytes and closes, within a second.
 *
 * @param raw the socket below, which is destroyed when the client has not closed by then.
 */
export function closeClient(
  { client, raw }: { readonly client: Socket; readonly raw: Socket },
  bytes: Buffer | undefined,
  clock: PortClock,
): void {
  const destroy = (): void => {
    stop();
    client.destroy();
    raw.destroy();
  };
  const stop = clock.after(PARTING_MS, destroy);
  let received = 0;
  client.on("data", (more: Buffer) => {
    received += more.length;
    if (received > PARTING_BYTES) destroy();
  });
  raw.once("close", stop);
  if (raw.destroyed) {
    destroy();
    return;
  }
  if (bytes !== undefined) client.write(bytes);
  client.end();
  client.resume();
}
