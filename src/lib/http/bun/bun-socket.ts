/**
 * Silence after which the system asks whether the other machine is still there, as `fetch` and undici have it: one that
 * lost its power says no word, and a firewall between forgets a connection on which nothing goes.
 */
const PROBE_AFTER_MS = 60_000;

/** The part of Bun's sockets that we use; its own types would replace Node's everywhere. */
export interface BunSocket {
  /** Returns how many bytes were taken; after less than all comes `drain`. */
  readonly write: (bytes: Uint8Array) => number;
  readonly pause: () => void;
  readonly resume: () => void;
  /** Holds the process, or not any more. */
  readonly ref: () => void;
  readonly unref: () => void;
  readonly setKeepAlive: (isOn: boolean, afterMs: number) => void;
  /** Closes at once, with a reset where bytes are under way. */
  readonly terminate: () => void;
  data: SocketOwner | undefined;
}

/** Who hears of what happens on a socket. */
export interface SocketOwner {
  /** The bytes are the owner's own. */
  readonly received: (bytes: Buffer) => void;
  readonly writable: () => void;
  /** Once, and the last that is told: with the system's error where the other side did not end it in order. */
  readonly closed: (error: unknown) => void;
}

interface BunRuntime {
  readonly connect: (options: {
    readonly hostname: string;
    readonly port: number;
    readonly data: SocketOwner | undefined;
    readonly socket: typeof HANDLERS;
  }) => Promise<BunSocket>;
}

declare const Bun: BunRuntime;

/** The same for all sockets: each set of handlers costs memory of its own. */
const HANDLERS = {
  binaryType: "buffer",
  open: (socket: BunSocket) => socket.setKeepAlive(true, PROBE_AFTER_MS),
  data: (socket: BunSocket, bytes: Buffer) => socket.data?.received(bytes),
  drain: (socket: BunSocket) => socket.data?.writable(),
  close: (socket: BunSocket, error: unknown) => socket.data?.closed(error),
  // What went wrong is told by the close that follows, and by the promise of the connection.
  error: () => undefined,
  connectError: () => undefined,
} as const;

/** Rejects with the system's error, whose `code` tells what happened. */
export function connectOnBun(hostname: string, port: number): Promise<BunSocket> {
  return Bun.connect({ hostname, port, data: undefined, socket: HANDLERS });
}
