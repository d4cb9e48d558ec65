import { createServer, type Server as HttpServer, type IncomingMessage } from "node:http";
import { type AddressInfo, Server as ConnectionServer, type Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { ServeOptions, Server } from "./server.ts";

const HEADERS_TIMEOUT_MS = 10_000;
const CONNECTIONS_CHECK_MS = 2_000;
const LINGER_MS = 1_000;
/** The adapter refuses unreadable hosts before we see them. The edge guard gets the true host from the raw headers. */
const ROUTED_HOST = "gateway";
const ORIGIN = /^https?:\/\/[^/?#]+\/?/i;

export async function serveOnNode(options: ServeOptions): Promise<Server> {
  const { host, port, quietSeconds, fetch } = options;
  const answer = getRequestListener(
    (request, { incoming }) => {
      const message = incoming as IncomingMessage;
      return fetch(request, {
        host: hostsOf(message),
        path: (message.url ?? "/").split("?", 1)[0] ?? "/",
        transferEncoding: message.headers["transfer-encoding"],
        peer: () => message.socket.remoteAddress ?? null,
        allowSilence: () => {
          message.socket.setTimeout(0);
          return () => void message.socket.setTimeout(quietSeconds * 1000);
        },
      });
    },
    { overrideGlobalObjects: false },
  );
  // Connections, each with the number of answers that are not completely handed to the system yet.
  const unanswered = new Map<Socket, number>();
  const count = (socket: Socket, more: 1 | -1) => {
    const before = unanswered.get(socket);
    if (before !== undefined) unanswered.set(socket, before + more);
  };
  let isStopping = false;
  let isAdmitting = true;
  const server = createServer(
    {
      // The edge guard refuses a missing or repeated Host, with an error in our form.
      requireHostHeader: false,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      // We enforce the deadline of a body ourselves, because it grows with the body.
      requestTimeout: 0,
      keepAliveTimeout: quietSeconds * 1000,
      noDelay: true,
    },
    (message, response) => {
      message.headers.host = ROUTED_HOST;
      // A client that takes the server for a proxy sends the whole address.
      message.url = message.url?.replace(ORIGIN, "/");
      count(message.socket, 1);
      // Otherwise a stopping server would keep the connection for another request and wait for it.
      response.once("close", () => {
        count(message.socket, -1);
        if (isStopping) message.socket.destroySoon();
      });
      // This promise never rejects.
      void answer(message, response);
    },
  );
  server.timeout = quietSeconds * 1000;
  server.on("connection", (socket) => {
    if (!isAdmitting) {
      socket.destroy();
      return;
    }
    unanswered.set(socket, 0);
    lingerOnClose(socket);
    socket.once("close", () => unanswered.delete(socket));
  });
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        isStopping = true;
        // The HTTP server's own `close` waits for unused connections, and cuts off answers that are still being
        // written.
        ConnectionServer.prototype.close.call(server, () => resolve());
        for (const [socket, answers] of unanswered) if (answers === 0) socket.destroy();
      }),
    close: () => server.closeAllConnections(),
    admit(newConnections) {
      isAdmitting = newConnections;
    },
  };
}

/**
 * Lets a client that is still sending its body read the answer. Closing at once would reset the connection, and the
 * reset may overtake the answer. The adapter reads on for a while and calls again when it has read enough.
 */
function lingerOnClose(socket: Socket): void {
  socket.destroySoon = () => {
    if (socket.writableEnded) {
      socket.destroy();
      return;
    }
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(timer));
  };
}

function listen(server: HttpServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, 8_192, () => resolve());
  });
}

/** Returns every `Host` header; `node:http` itself drops the second one. */
function hostsOf({ rawHeaders }: IncomingMessage): string | null {
  const hosts = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host",
  );
  return hosts.length === 0 ? null : hosts.join(", ");
}
