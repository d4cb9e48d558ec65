/**
 * The idle time before the system sends keep-alive probes; `fetch` and undici use the same. They detect a machine that
 * lost power, and a firewall that dropped the idle connection.
 */
const PROBE_AFTER_MS = 60_000;

/** The part of Bun's sockets that is used here. Bun's own types would replace Node's everywhere. */
export interface BunSocket {
  /** Returns the number of bytes accepted. If it is less than all, `drain` follows. */
  readonly write: (bytes: Uint8Array) => number;
  readonly pause: () => void;
  readonly resume: () => void;
  /** Keeps the process alive until `unref`. */
  readonly ref: () => void;
  readonly unref: () => void;
  readonly setKeepAlive: (isOn: boolean, afterMs: number) => void;
  /** Closes immediately, with a reset if bytes are still in transit. */
  readonly terminate: () => void;
  data: SocketOwner | undefined;
}

/** Receives the events of a socket. */
export interface SocketOwner {
  /** The owner may keep and modify the bytes. */
  readonly received: (bytes: Buffer) => void;
  readonly writable: () => void;
  /**
   * Called once, as the last event. `error` is the system's error when the other side did not close the connection in
   * order.
   */
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

/** Shared by all sockets, because each set of handlers takes memory. */
const HANDLERS = {
  binaryType: "buffer",
  open: (socket: BunSocket) => socket.setKeepAlive(true, PROBE_AFTER_MS),
  data: (socket: BunSocket, bytes: Buffer) => socket.data?.received(bytes),
  drain: (socket: BunSocket) => socket.data?.writable(),
  close: (socket: BunSocket, error: unknown) => socket.data?.closed(error),
  // Errors are reported by the `close` that follows, and by the promise of the connection.
  error: () => undefined,
  connectError: () => undefined,
} as const;

/** Rejects with the system's error, whose `code` identifies the cause. */
export function connectOnBun(hostname: string, port: number): Promise<BunSocket> {
  return Bun.connect({ hostname, port, data: undefined, socket: HANDLERS });
}
