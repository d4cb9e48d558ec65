// An embedding engine that costs nearly nothing: each text gets one of a few vectors, which are written once.
// usage: DIMENSIONS=1024 bun bench/knowledge/canned-embeddings.ts
import { setTimeout as sleep } from "node:timers/promises";

declare const Bun: {
  readonly serve: (options: {
    readonly hostname: string;
    readonly port: number;
    readonly fetch: (request: Request) => Promise<Response>;
  }) => { readonly port: number };
};

const MODEL = "canned";
const DIMENSIONS = Number(process.env["DIMENSIONS"]);
const VECTORS = 64;
const DELAY_MS = 5;

const vectors = Array.from({ length: VECTORS }, () => {
  const numbers = Float32Array.from({ length: DIMENSIONS }, () => Math.random() - 0.5);
  return Buffer.from(numbers.buffer).toString("base64");
});

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    if (request.method === "GET")
      return Response.json({ object: "list", data: [{ id: MODEL, object: "model" }] });
    const { input } = (await request.json()) as { input: string | readonly string[] };
    const inputs = typeof input === "string" ? [input] : input;
    const data = inputs.map((_, index) => ({
      object: "embedding",
      index,
      embedding: vectors[index % VECTORS],
    }));
    await sleep(DELAY_MS);
    const usage = { prompt_tokens: 1, total_tokens: 1 };
    return Response.json({ object: "list", model: MODEL, data, usage });
  },
});
process.stdout.write(`listening 127.0.0.1:${server.port}\n`);
