import { toAbortSignal } from "../cancellation.ts";
import {
  type HttpChunk,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  PIECE_MAX_BYTES,
} from "./http-client.ts";
import { ConnectLimit, type ConnectLimits } from "./limit-connect.ts";
import { fitsDeclared, readBodyText } from "./read-body-text.ts";

/** Creates the `fetch` client of Bun, which has no time limit of its own for connecting. */
export function createFetchClient(limits?: ConnectLimits): HttpClient {
  const connecting = new ConnectLimit(limits);
  return {
    send: (request) => sendReaching(connecting, request),
    close: async () => {},
  };
}

async function sendReaching(connecting: ConnectLimit, request: HttpRequest): Promise<HttpResponse> {
  const { origin } = new URL(request.url);
  const signal = toAbortSignal(request.signal);
  if (connecting.isReached(origin)) return send(request, signal);
  const unreached = new AbortController();
  const end = connecting.watch(origin, (error) => unreached.abort(error));
  try {
    const response = await send(request, AbortSignal.any([signal, unreached.signal]));
    connecting.answered(origin);
    return response;
  } finally {
    end();
  }
}

function send(
  { url, method, headers, body }: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const init: RequestInit & { timeout: false; proxy: false } = {
    method,
    headers,
    signal,
    redirect: "manual",
    // Bun's own limit of 300 s would end long silences that the settings allow.
    timeout: false,
    // As on Node: a proxy set in the environment is for external servers, not for a nearby engine.
    proxy: false,
    ...(body === undefined ? {} : { body: body as BodyInit }),
  };
  return fetch(url, init).then(toHttpResponse);
}

function toHttpResponse(response: Response): HttpResponse {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Bytes that were read but not returned yet. */
  let rest: Uint8Array | undefined;
  const giveFirstPiece = (chunk: HttpChunk): HttpChunk => {
    const { value } = chunk;
    if (value === undefined || value.length <= PIECE_MAX_BYTES) return chunk;
    rest = value.subarray(PIECE_MAX_BYTES);
    return { done: false, value: value.subarray(0, PIECE_MAX_BYTES) };
  };
  const next = (): Promise<HttpChunk> => {
    if (rest !== undefined) {
      const value = rest;
      rest = undefined;
      return Promise.resolve(giveFirstPiece({ done: false, value }));
    }
    reader ??= response.body?.getReader();
    if (reader === undefined) return Promise.resolve({ done: true, value: undefined });
    return reader.read().then(giveFirstPiece);
  };
  const header = (name: string) => response.headers.get(name) ?? undefined;
  return {
    status: response.status,
    header,
    next,
    text: (maxBytes) =>
      fitsDeclared(header("content-length"), maxBytes)
        ? response.text()
        : readBodyText(next, maxBytes),
    cancel() {
      rest = undefined;
      const cancelled = reader === undefined ? response.body?.cancel() : reader.cancel();
      // The body may have failed or ended already; both are fine.
      cancelled?.catch(() => {});
    },
  };
}
