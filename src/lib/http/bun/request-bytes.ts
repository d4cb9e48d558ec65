import type { HttpRequest } from "../http-client.ts";

/** What would end a header's line early, or cannot stand in it. */
const NOT_IN_HEADERS = /[^\t\x20-\x7e]/;

/**
 * A call as it goes over the wire, in HTTP/1.1. Throws a `TypeError` for a header that cannot be sent.
 */
export function requestBytes(
  { method, headers, body }: Pick<HttpRequest, "method" | "headers" | "body">,
  url: URL,
): Uint8Array {
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  if (headers["connection"] === undefined) head += "connection: keep-alive\r\n";
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (NOT_IN_HEADERS.test(value)) throw new TypeError(`The header "${name}" cannot be sent.`);
    head += `${name}: ${value}\r\n`;
  }
  if (body === undefined) return Buffer.from(`${head}\r\n`);
  if (typeof body !== "string") {
    return Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), body]);
  }
  return Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
