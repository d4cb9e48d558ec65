import { createFetchClient } from "./fetch-client.ts";
import type { HttpClient } from "./http-client.ts";
import { createStreamClient } from "./stream-client.ts";
import { createUndiciClient } from "./undici-client.ts";

/** The fastest client of the runtime: `undici.request` on Node, where it beats `fetch` by half. */
export function createHttpClient(): HttpClient {
  return "Bun" in globalThis ? createBunClient() : createUndiciClient();
}

/** `fetch`, but for streams: a call costs it a third, a stream that waits ten times the memory. */
function createBunClient(): HttpClient {
  const whole = createFetchClient();
  const streams = createStreamClient();
  return {
    send: (request) =>
      (request.isStream === true && request.url.startsWith("http:") ? streams : whole).send(
        request,
      ),
    close: async () => {
      await Promise.all([whole.close(), streams.close()]);
    },
  };
}
