import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

export interface PinnedRequest {
  readonly url: URL;
  /** Where the connection goes, whatever the URL's host may resolve to. */
  readonly address: string;
  readonly accept: string;
  readonly signal: AbortSignal;
}

export interface PinnedResponse {
  readonly status: number;
  readonly location: string | undefined;
  readonly contentLength: number | undefined;
  /** In small letters, without parameters. */
  readonly mediaType: string | undefined;
  /** The connection is closed when it is not read to its end. */
  readonly body: AsyncIterable<Uint8Array>;
  readonly cancel: () => void;
}

const USER_AGENT = "inference-gateway";

/**
 * One GET on a connection of its own to the very address given, named after the URL's host in its header and in TLS.
 * Redirects are not followed. By `node:http`, which alone does so on both runtimes.
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
      // Empty where the scheme says it: the library knows it then.
      ...(url.port !== "" && { port: url.port }),
      path: url.pathname + url.search,
      headers: { host: url.host, accept, "accept-encoding": "identity", "user-agent": USER_AGENT },
      ...(isSecure && isNamed && { servername: url.hostname }),
      signal,
    });
    request.on("response", (message) => resolve(toPinnedResponse(message)));
    request.on("error", reject);
    // An answer that is none, such as a switch of protocols, ends without either.
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
      // Given up on purpose: what it says about that is heard by nobody.
      message.on("error", () => {});
      message.destroy();
    },
  };
}
