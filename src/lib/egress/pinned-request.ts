import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

export interface PinnedRequest {
  readonly url: URL;
  /** The address to connect to, whatever the URL's host resolves to. */
  readonly address: string;
  readonly accept: string;
  readonly signal: AbortSignal;
}

export interface PinnedResponse {
  readonly status: number;
  readonly location: string | undefined;
  readonly contentLength: number | undefined;
  /** In lower case, without parameters. */
  readonly mediaType: string | undefined;
  /** The connection is closed if the body is not read to its end. */
  readonly body: AsyncIterable<Uint8Array>;
  readonly cancel: () => void;
}

const USER_AGENT = "inference-gateway";

/**
 * Sends one GET on a new connection to exactly the given address. The `Host` header and TLS name the URL's host.
 * Redirects are not followed. Uses `node:http`, the only client that can do this on both runtimes.
 */
export function sendPinned({
  url,
  address,
  accept,
  signal,
}: PinnedRequest): Promise<PinnedResponse> {
  const isSecure = url.protocol === "https:";
  const isNamed = !url.hostname.startsWith("[") && url.hostname !== address;
  return new Promise((resolve, reject) => {
    const send = isSecure ? requestHttps : requestHttp;
    const request = send({
      agent: false,
      host: address,
      // Empty for the scheme's default port, which the library fills in.
      ...(url.port !== "" && { port: url.port }),
      path: url.pathname + url.search,
      headers: { host: url.host, accept, "accept-encoding": "identity", "user-agent": USER_AGENT },
      ...(isSecure && isNamed && { servername: url.hostname }),
      signal,
    });
    request.on("response", (message) => resolve(toPinnedResponse(message)));
    request.on("error", reject);
    // A response such as a protocol switch emits neither of these events.
    request.on("close", () => reject(new Error("the connection was closed")));
    request.end();
  });
}

function toPinnedResponse(message: IncomingMessage): PinnedResponse {
  const { statusCode = 0, headers } = message;
  const declared = headers["content-length"];
  return {
    status: statusCode,
    location: headers.location,
    contentLength: declared === undefined ? undefined : Number(declared),
    mediaType: headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase(),
    body: message,
    cancel() {
      // The response was cancelled on purpose, so its error is ignored.
      message.on("error", () => {});
      message.destroy();
    },
  };
}
