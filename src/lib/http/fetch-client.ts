import {
  type HttpChunk,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  PIECE_MAX_BYTES,
} from "./http-client.ts";
import { fitsDeclared, readBodyText } from "./read-body-text.ts";

/** The HTTP client of Bun. */
export function createFetchClient(): HttpClient {
  return { send, close: async () => {} };
}

function send({ url, method, headers, body, signal }: HttpRequest): Promise<HttpResponse> {
  const init: RequestInit & { timeout: false; proxy: false } = {
    method,
    headers,
    signal,
    redirect: "manual",
    // Bun's own limit of 300 s would cut long silences that the settings allow.
    timeout: false,
    // As on Node: a proxy named in the environment is for the world outside, not for an engine next door.
    proxy: false,
    ...(body === undefined ? {} : { body: body as BodyInit }),
  };
  return fetch(url, init).then(toHttpResponse);
}

function toHttpResponse(response: Response): HttpResponse {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** What was read and not given yet. */
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
      // The body may have failed or ended already: either way there is nothing left to give up.
      cancelled?.catch(() => {});
    },
  };
}
