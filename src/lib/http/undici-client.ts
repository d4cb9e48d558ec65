import { Agent, type Dispatcher, request } from "undici";
import { toAbortSignal } from "../cancellation.ts";
import type { HttpClient, HttpRequest, HttpResponse } from "./http-client.ts";
import { fitsDeclared, readBodyText } from "./read-body-text.ts";

const CONNECT_TIMEOUT_MS = 10_000;

/** Creates the HTTP client of Node. */
export function createUndiciClient(): HttpClient {
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
  return {
    async send({ url, method, headers, body, signal: cancel }: HttpRequest) {
      const signal = toAbortSignal(cancel);
      const options = { dispatcher: agent, method, headers, body: body ?? null, signal };
      return unlessAborted(request(url, options).then(toHttpResponse), signal);
    },
    close: () => agent.destroy(),
  };
}

/** Rejects on abort without waiting for undici, which notices an abort only after it has connected. */
function unlessAborted(answer: Promise<HttpResponse>, signal: AbortSignal): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      reject(signal.reason);
      answer.then(
        (late) => late.cancel(),
        () => undefined,
      );
    };
    signal.addEventListener("abort", leave, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

function toHttpResponse({ statusCode, headers, body }: Dispatcher.ResponseData): HttpResponse {
  // A discarded body emits an error, which would end the process if it had no listener.
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
