import { Agent, type Dispatcher, request } from "undici";
import type { HttpClient, HttpRequest, HttpResponse } from "./http-client.ts";
import { fitsDeclared, readBodyText } from "./read-body-text.ts";

const CONNECT_TIMEOUT_MS = 10_000;

/** The HTTP client of Node. */
export function createUndiciClient(): HttpClient {
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
  return {
    async send({ url, method, headers, body, signal }: HttpRequest) {
      return toHttpResponse(
        await request(url, { dispatcher: agent, method, headers, body: body ?? null, signal }),
      );
    },
    close: () => agent.destroy(),
  };
}

function toHttpResponse({ statusCode, headers, body }: Dispatcher.ResponseData): HttpResponse {
  // A body that is given up emits an error; unheard, it would end the process.
  body.on("error", () => {});
  let reader: AsyncIterator<Uint8Array> | undefined;
  const next = () => {
    reader ??= body[Symbol.asyncIterator]();
    return reader.next();
  };
  const header = (name: string) => {
    const value = headers[name];
    return typeof value === "string" ? value : value?.[0];
  };
  return {
    status: statusCode,
    header,
    next,
    text: (maxBytes) =>
      fitsDeclared(header("content-length"), maxBytes) ? body.text() : readBodyText(next, maxBytes),
    cancel: () => {
      body.destroy();
    },
  };
}
