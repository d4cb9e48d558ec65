import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";

export interface PinnedRequest {
  readonly url: URL;
  /** The address to connect to, whatever the URL's host resolves to. */
  readonly address: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Sent beside those that the connection needs, which they cannot replace. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Closes the connection at once, also in the middle of the body. */
  readonly signal: AbortSignal;
  /** For the connection with its TLS handshake. */
  readonly connectTimeoutMs?: number | undefined;
  /** Of the response. */
  readonly maxHeaderBytes: number;
}

export interface PinnedResponse {
  readonly status: number;
  /** Takes a name in lower case. */
  readonly header: (name: string) => string | undefined;
  /** The connection is closed at its end, and if it is not read to its end. */
  readonly body: AsyncIterable<Uint8Array>;
  readonly cancel: () => void;
}

/** The connection failed before the head of the response had arrived. */
export class PinnedFailure extends Error {
  override readonly name = "PinnedFailure";
  /** True when the server may have received the request. */
  readonly mayHaveArrived: boolean;
  readonly isTimeout: boolean;

  constructor(cause: unknown, { mayHaveArrived = false, isTimeout = false }) {
    super("the connection failed", { cause });
    this.mayHaveArrived = mayHaveArrived;
    this.isTimeout = isTimeout;
  }
}

const USER_AGENT = "inference-gateway";
/** Headers that describe the connection or the framing. Nobody else may set them. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Sends one request on a new connection to exactly the given address. The `Host` header and TLS name the URL's host.
 * Redirects are not followed. Uses `node:http`, the only client that can do this on both runtimes. Rejects with a
 * `PinnedFailure`.
 */
export function sendPinned(pinned: PinnedRequest): Promise<PinnedResponse> {
  const { body, signal, connectTimeoutMs } = pinned;
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const fail = (thrown: unknown, isTimeout = false) =>
      reject(new PinnedFailure(thrown, { mayHaveArrived: isConnected, isTimeout }));
    let request: ClientRequest;
    try {
      signal.throwIfAborted();
      request = createRequest(pinned);
    } catch (thrown) {
      fail(thrown);
      return;
    }
    const leave = () => request.destroy();
    signal.addEventListener("abort", leave, { once: true });
    const giveUp = () => {
      fail(new Error("the connection took too long"), true);
      request.destroy();
    };
    const timer = connectTimeoutMs === undefined ? undefined : setTimeout(giveUp, connectTimeoutMs);
    onConnected(request, pinned.url, () => {
      isConnected = true;
      clearTimeout(timer);
    });
    request.on("response", (message) => {
      const response = toPinnedResponse(message, request);
      // A switch to another protocol, which was not asked for. The `close` that follows reports it.
      if (response.status < 200) response.cancel();
      else resolve(response);
    });
    request.on("error", (thrown) => fail(thrown));
    request.on("close", () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      // A protocol switch emits none of the events above.
      fail(new Error("the connection was closed"));
    });
    request.end(body);
  });
}

function createRequest({ url, address, method, headers, body, maxHeaderBytes }: PinnedRequest) {
  const isSecure = url.protocol === "https:";
  const isNamed = !url.hostname.startsWith("[") && url.hostname !== address;
  const sent: Record<string, string | number> = {
    "user-agent": USER_AGENT,
    ...withoutOwn(headers),
    host: url.host,
    "accept-encoding": "identity",
    ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
  };
  const send = isSecure ? requestHttps : requestHttp;
  return send({
    agent: false,
    method,
    host: address,
    // Empty for the scheme's default port, which the library fills in.
    ...(url.port !== "" && { port: url.port }),
    path: url.pathname + url.search,
    headers: sent,
    maxHeaderSize: maxHeaderBytes,
    ...(isSecure && isNamed && { servername: url.hostname }),
  });
}

function withoutOwn(headers: Readonly<Record<string, string>>): Record<string, string> {
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return Object.fromEntries(lowered.filter(([name = ""]) => !OWN_HEADERS.has(name)));
}

/** Nothing of the request is sent before this. */
function onConnected(request: ClientRequest, url: URL, connected: () => void): void {
  const event = url.protocol === "https:" ? "secureConnect" : "connect";
  request.on("socket", (socket: Socket) => {
    socket.once(event, connected);
  });
}

function toPinnedResponse(message: IncomingMessage, request: ClientRequest): PinnedResponse {
  const { statusCode = 0, headers } = message;
  // Whoever reads the body gets its error; without a reader nobody needs it.
  message.on("error", () => {});
  const cancel = () => {
    message.destroy();
    // The rest of a request that was answered early.
    request.destroy();
  };
  return {
    status: statusCode,
    header(name) {
      const value = headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    body: readPieces(message, cancel),
    cancel,
  };
}

async function* readPieces(
  message: IncomingMessage,
  cancel: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    // An incomplete response ends with an error on both runtimes.
    for await (const piece of message) yield piece;
  } finally {
    cancel();
  }
}
