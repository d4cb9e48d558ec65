import { createServer, type Socket } from "node:net";
import { Exchange } from "./exchange.ts";
import { RequestReader } from "./request-reader.ts";

export interface HttpListener {
  readonly port: number;
  readonly openSockets: () => number;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a small HTTP/1.1 server directly on sockets, so that resets, early ends and segment boundaries can be chosen
 * and are the same on every runtime. Listens on loopback; port 0 selects a free port.
 */
export function listenHttp(
  port: number,
  handle: (exchange: Exchange) => Promise<void>,
): Promise<HttpListener> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    serveConnection(socket, handle);
  });
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1", backlog: 8192 }, () => {
      const address = server.address();
      const bound = typeof address === "object" && address ? address.port : port;
      resolve({ port: bound, openSockets: () => sockets.size, stop });
    });
  });
}

function serveConnection(socket: Socket, handle: (exchange: Exchange) => Promise<void>): void {
  const reader = new RequestReader();
  let current: Exchange | undefined;
  const refuse = () => socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");

  const answerNext = async (): Promise<void> => {
    if (current) return;
    const request = reader.next(() => socket.write("HTTP/1.1 100 Continue\r\n\r\n"));
    if (!request) return;
    const exchange = new Exchange(socket, request);
    current = exchange;
    await handle(exchange);
    current = undefined;
    if (exchange.ended && !socket.writableEnded) await answerNext();
  };

  const leave = () => current?.leave();
  socket.on("data", (segment: Buffer) => {
    try {
      reader.push(segment);
    } catch {
      refuse();
      return;
    }
    answerNext().catch(refuse);
  });
  socket.on("end", leave);
  socket.on("error", leave);
  socket.on("close", leave);
}
