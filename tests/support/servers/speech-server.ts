import { createServer, type Socket } from "node:net";
import { type HttpRequest, RequestReader } from "../../../simulator/http/request-reader.ts";
import { wholeResponse } from "./scripted-upstream.ts";

/** One transcription that the gateway asks for, on a connection of its own. */
export interface SpeechExchange {
  readonly socket: Socket;
  /** Bytes received so far, the head among them. */
  readonly received: () => number;
  /** Resolves with the request when all of it is there. */
  readonly request: Promise<HttpRequest>;
  /** Resolves when the connection is over, whoever ended it. */
  readonly closed: Promise<void>;
}

export interface SpeechServer {
  readonly url: string;
  readonly port: number;
  /** What is done with each transcription from now on. */
  readonly use: (serve: (exchange: SpeechExchange) => void | Promise<void>) => void;
  /** The next transcription that comes. */
  readonly nextExchange: () => Promise<SpeechExchange>;
  readonly exchanges: () => readonly SpeechExchange[];
  readonly stop: () => Promise<void>;
}

const NO_LIST = "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";

/** A server that does with a form whatever the test says, while it arrives too. It lists these models; none, no list. */
export async function startSpeechServer(...models: readonly string[]): Promise<SpeechServer> {
  const cards = JSON.stringify({ data: models.map((id) => ({ id })) });
  const list = models.length === 0 ? NO_LIST : wholeResponse(200, cards);
  const exchanges: SpeechExchange[] = [];
  const waiting: ((exchange: SpeechExchange) => void)[] = [];
  let serve: (exchange: SpeechExchange) => void | Promise<void> = () => undefined;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    socket.once("data", (bytes: Buffer) => {
      if (bytes.toString("latin1", 0, 4) === "GET ") {
        socket.end(list);
        return;
      }
      const exchange = openExchange(socket, bytes);
      exchanges.push(exchange);
      waiting.shift()?.(exchange);
      void serve(exchange);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    use: (next) => {
      serve = next;
    },
    nextExchange: () => new Promise((resolve) => waiting.push(resolve)),
    exchanges: () => exchanges,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function openExchange(socket: Socket, first: Buffer): SpeechExchange {
  const reader = new RequestReader();
  let received = 0;
  let resolve: (request: HttpRequest) => void = () => {};
  const request = new Promise<HttpRequest>((resolveRequest) => {
    resolve = resolveRequest;
  });
  const read = (bytes: Buffer) => {
    received += bytes.length;
    reader.push(bytes);
    const whole = reader.next(() => {});
    if (whole !== undefined) resolve(whole);
  };
  read(first);
  socket.on("data", read);
  const closed = new Promise<void>((resolveClosed) => socket.once("close", () => resolveClosed()));
  return { socket, received: () => received, request, closed };
}
