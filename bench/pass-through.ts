// The bare proxy the gateway is measured against: Hono on Bun, which passes on the body and the answer.
// usage: UPSTREAM=http://127.0.0.1:PORT bun bench/pass-through.ts
import { Hono } from "hono";

declare const Bun: {
  readonly serve: (options: {
    readonly hostname: string;
    readonly port: number;
    readonly idleTimeout: number;
    readonly fetch: (request: Request) => Response | Promise<Response>;
  }) => { readonly port: number };
};

const upstream = process.env["UPSTREAM"];
const app = new Hono();

app.post("/v1/chat/completions", async (context) => {
  const answer = await fetch(`${upstream}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: await context.req.arrayBuffer(),
    signal: context.req.raw.signal,
  });
  const type = answer.headers.get("content-type") ?? "application/json";
  return new Response(answer.body, { status: answer.status, headers: { "content-type": type } });
});

const server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: app.fetch });
console.log(`listening 127.0.0.1:${server.port}`);
