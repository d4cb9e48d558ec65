import { connect, createServer, type Socket } from "node:net";

/** An address on loopback that leads to another server after it was moved, like a name whose record is changed. */
export interface MovableAddress {
  readonly port: number;
  /** Applies to new connections; open ones stay with the server that they have. */
  readonly moveTo: (targetPort: number) => void;
  /** The connections so far. */
  readonly accepted: () => number;
  readonly stop: () => Promise<void>;
}

export async function startMovableAddress(firstPort: number): Promise<MovableAddress> {
  let target = firstPort;
  let accepted = 0;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => other.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const server = createServer((client) => {
    accepted += 1;
    const onward = connect(target, "127.0.0.1");
    keep(client, onward);
    keep(onward, client);
    client.pipe(onward).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    moveTo(targetPort) {
      target = targetPort;
    },
    accepted: () => accepted,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
