import { createRandom } from "../support/faults/random.ts";

const LARGEST_PIECE = 40;

/** `fetch` whose answers arrive cut anywhere, inside characters too, as a slow network may cut them. */
export function scrambledFetch(seed: number): typeof fetch {
  const random = createRandom(seed);
  const scrambled = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetch(...request);
    if (response.body === null) return response;
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        for (let at = 0; at < bytes.length; ) {
          const end = at + 1 + Math.floor(random() * LARGEST_PIECE);
          controller.enqueue(bytes.slice(at, end));
          at = end;
        }
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(cut), { status, statusText, headers });
  };
  return scrambled as typeof fetch;
}
