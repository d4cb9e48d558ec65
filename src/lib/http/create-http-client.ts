import { createSocketClient } from "./bun/socket-client.ts";
import { createFetchClient } from "./fetch-client.ts";
import type { HttpClient } from "./http-client.ts";

/** Only Node loads it. */
const undici = "Bun" in globalThis ? undefined : await import("./undici-client.ts");

/** Creates the fastest client of the runtime: on Node `undici.request`, which is about 50% faster than `fetch`. */
export function createHttpClient(): HttpClient {
  return undici === undefined ? createBunClient() : undici.createUndiciClient();
}

/** Uses our own client for plain HTTP, which nearby engines use, and `fetch` for the rest. */
function createBunClient(): HttpClient {
  const plain = createSocketClient();
  const other = createFetchClient();
  return {
    send: (request) => (request.url.startsWith("http:") ? plain : other).send(request),
    close: async () => {
      await Promise.all([plain.close(), other.close()]);
    },
  };
}
