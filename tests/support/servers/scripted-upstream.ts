import { createServer, type Socket } from "node:net";
import { type HttpRequest, RequestReader } from "../../../simulator/http/request-reader.ts";

const POLL_MS = 5;
/** What was sent just before a reset is given this long to arrive. */
const RESET_GRACE_MS = 10;

export interface UpstreamScript {
  /** Each piece is one write, so its end is a segment's end. */
  readonly steps: readonly { readonly bytes: string | Uint8Array; readonly delayMs?: number }[];
  /** keep: the connection stays open for the next request. stall: nothing more is said or read as a request. */
  readonly ending: "fin" | "rst" | "stall" | "keep";
}

/** One request and what became of it. Times are Unix milliseconds. */
interface UpstreamExchange {
  readonly request: HttpRequest;
  readonly receivedAt: number;
  /** When the other side closed, on the last exchange of a connection; undefined when this side did. */
  clientClosedAt: number | undefined;
  /** True once all steps were written. */
  played: boolean;
}

export interface ScriptedUpstream {
  readonly url: string;
  readonly port: number;
  /** The script from now on, for every request or chosen by it. */
  readonly use: (script: UpstreamScript | ((request: HttpRequest) => UpstreamScript)) => void;
  readonly exchanges: () => readonly UpstreamExchange[];
  readonly awaitExchange: (
    condition: (exchange: UpstreamExchange) => boolean,
    timeoutMs?: number,
  ) => Promise<UpstreamExchange>;
  readonly stop: () => Promise<void>;
}

/** An upstream that answers each request with the very bytes of its script. */
export async function startScriptedUpstream(
  first: UpstreamScript | ((request: HttpRequest) => UpstreamScript),
): Promise<ScriptedUpstream> {
  let script = first;
  const exchanges: UpstreamExchange[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    serve(socket, (request) => {
      const exchange = {
        request,
        receivedAt: Date.now(),
        clientClosedAt: undefined,
        played: false,
      };
      exchanges.push(exchange);
      return { exchange, script: typeof script === "function" ? script(request) : script };
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    use: (next) => {
      script = next;
    },
    exchanges: () => exchanges,
    awaitExchange: async (condition, timeoutMs = 10_000) => {
      const until = Date.now() + timeoutMs;
      while (Date.now() < until) {
        const found = exchanges.find(condition);
        if (found) return found;
        await sleep(POLL_MS);
      }
      throw new Error(`no such exchange after ${timeoutMs} ms`);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function serve(
  socket: Socket,
  begin: (request: HttpRequest) => { exchange: UpstreamExchange; script: UpstreamScript },
): void {
  const reader = new RequestReader();
  let current: UpstreamExchange | undefined;
  let isBusy = false;
  const answerNext = async (): Promise<void> => {
    if (isBusy) return;
    const request = reader.next(() => socket.write("HTTP/1.1 100 Continue\r\n\r\n"));
    if (!request) return;
    const { exchange, script } = begin(request);
    current = exchange;
    isBusy = true;
    await play(socket, exchange, script);
    if (script.ending !== "keep") return;
    isBusy = false;
    await answerNext();
  };
  const left = () => {
    if (current) current.clientClosedAt ??= Date.now();
  };
  socket.on("data", (segment: Buffer) => {
    reader.push(segment);
    answerNext().catch(() => socket.destroy());
  });
  socket.on("end", left);
  socket.on("error", left);
}

async function play(
  socket: Socket,
  exchange: UpstreamExchange,
  { steps, ending }: UpstreamScript,
): Promise<void> {
  for (const { bytes, delayMs = 0 } of steps) {
    if (delayMs > 0) await sleep(delayMs);
    if (exchange.clientClosedAt !== undefined || socket.destroyed) return;
    if (!socket.write(bytes)) await drained(socket);
  }
  exchange.played = true;
  if (ending === "fin") socket.end();
  if (ending !== "rst") return;
  await sleep(RESET_GRACE_MS);
  socket.resetAndDestroy();
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("drain", resolve);
    socket.once("close", () => resolve());
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The head of an answer. */
export function responseHead(status: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Status\r\n${lines.join("")}\r\n`;
}

/** A whole answer with its length. */
export function wholeResponse(
  status: number,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = { "content-type": "application/json" },
): Buffer {
  const bytes = Buffer.from(body as string);
  const head = responseHead(status, { ...headers, "content-length": String(bytes.length) });
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** One chunk of a chunked answer; an empty one ends it. */
export function chunk(bytes: string | Uint8Array): Buffer {
  const data = Buffer.from(bytes as string);
  const size = Buffer.from(`${data.length.toString(16)}\r\n`);
  return Buffer.concat([size, data, Buffer.from("\r\n")]);
}
