import { connect, createServer, type Server, type Socket } from "node:net";

/** Slices of a limited bandwidth a second. */
const SLICES_PER_SECOND = 20;

/** What is done to the bytes of one direction; what is left out does nothing. */
interface Toxics {
  readonly latencyMs?: number;
  readonly bytesPerSecond?: number;
  /** Cuts into writes of so many bytes with a pause between them. */
  readonly slicer?: { readonly bytes: number; readonly delayMs: number };
  /** Nothing passes while it is on; nothing is lost. */
  readonly stall?: boolean;
  /** After so many bytes of a connection both of its sides are closed. */
  readonly limitBytes?: number;
}

/** up: from the client to the server. */
type Direction = "up" | "down";

export interface TcpFault {
  readonly port: number;
  readonly url: string;
  /** Sets the toxics of one direction, for open and new connections, in place of those before. */
  readonly set: (direction: Direction, toxics: Toxics) => void;
  /** Takes all toxics away. */
  readonly clear: () => void;
  /** RST to both sides of every open connection. */
  readonly reset: () => void;
  /** FIN to the client of every open connection; the server's side stays open. */
  readonly halfClose: () => void;
  /** down: open connections are reset and new ones refused, until `up`. */
  readonly down: () => Promise<void>;
  readonly up: () => Promise<void>;
  readonly openConnections: () => number;
  readonly stop: () => Promise<void>;
}

/** A TCP proxy on loopback in front of a port, with faults that are switched while it runs. */
export async function startTcpFault(target: { readonly port: number }): Promise<TcpFault> {
  const proxy = new FaultyProxy(target.port);
  await proxy.listen();
  const { port } = proxy;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    set: (direction, toxics) => proxy.set(direction, toxics),
    clear: () => {
      proxy.set("up", {});
      proxy.set("down", {});
    },
    reset: () => proxy.reset(),
    halfClose: () => {
      for (const { client } of proxy.pairs) client.end();
    },
    down: () => proxy.close(),
    up: () => proxy.listen(),
    openConnections: () => proxy.pairs.size,
    stop: () => proxy.close(),
  };
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

class FaultyProxy {
  port = 0;
  readonly pairs = new Set<Pair>();
  readonly #targetPort: number;
  #toxics: Record<Direction, Toxics> = { up: {}, down: {} };
  #waiting: (() => void)[] = [];
  #listener: Server | undefined;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  async listen(): Promise<void> {
    if (this.#listener) return;
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) =>
      this.#join(client),
    );
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject);
      listener.listen(this.port, "127.0.0.1", resolve);
    });
    const address = listener.address();
    if (typeof address === "object" && address) this.port = address.port;
    this.#listener = listener;
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    if (!listener) return;
    const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
    this.reset();
    await closed;
  }

  set(direction: Direction, toxics: Toxics): void {
    this.#toxics[direction] = toxics;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  reset(): void {
    for (const { client, server } of this.pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
    this.pairs.clear();
  }

  #join(client: Socket): void {
    const server = connect({
      port: this.#targetPort,
      host: "127.0.0.1",
      allowHalfOpen: true,
      noDelay: true,
    });
    const pair = { client, server };
    this.pairs.add(pair);
    const over = () => {
      if (client.destroyed && server.destroyed) this.pairs.delete(pair);
    };
    client.on("close", over);
    server.on("close", over);
    this.#pump(client, server, "up");
    this.#pump(server, client, "down");
  }

  /** Passes on bytes, ends and resets of one side to the other. */
  #pump(from: Socket, to: Socket, direction: Direction): void {
    let passedBytes = 0;
    const pass = async (): Promise<void> => {
      for await (const bytes of from.iterator({ destroyOnReturn: false })) {
        const limit = this.#toxics[direction].limitBytes ?? Number.POSITIVE_INFINITY;
        const allowed = (bytes as Buffer).subarray(0, Math.max(0, limit - passedBytes));
        passedBytes += allowed.length;
        await this.#passBytes(allowed, to, direction);
        if (passedBytes >= limit) {
          from.destroy();
          to.end();
          return;
        }
      }
      await this.#unstalled(direction);
      to.end();
    };
    pass().catch(() => to.resetAndDestroy());
    to.on("error", () => from.resetAndDestroy());
  }

  async #passBytes(bytes: Buffer, to: Socket, direction: Direction): Promise<void> {
    await sleep(this.#toxics[direction].latencyMs ?? 0);
    let at = 0;
    while (at < bytes.length && !to.destroyed) {
      await this.#unstalled(direction);
      const { bytesPerSecond, slicer } = this.#toxics[direction];
      const perSlice = bytesPerSecond
        ? Math.ceil(bytesPerSecond / SLICES_PER_SECOND)
        : bytes.length;
      const slice = bytes.subarray(at, at + Math.min(slicer?.bytes ?? bytes.length, perSlice));
      at += slice.length;
      if (!to.write(slice)) await drained(to);
      const bandwidthMs = bytesPerSecond ? (slice.length * 1000) / bytesPerSecond : 0;
      await sleep(Math.max(bandwidthMs, slicer?.delayMs ?? 0));
    }
  }

  async #unstalled(direction: Direction): Promise<void> {
    while (this.#toxics[direction].stall)
      await new Promise<void>((wake) => this.#waiting.push(wake));
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("drain", resolve);
    socket.once("close", () => resolve());
  });
}

function sleep(ms: number): Promise<void> {
  if (ms <= 0) return Promise.resolve();
  return new Promise((resolve) => setTimeout(resolve, ms));
}
