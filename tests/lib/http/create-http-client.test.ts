import { spawn } from "node:child_process";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

let engine: Server;
let proxy: Server;

async function listen(answer: RequestListener): Promise<Server> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  engine = await listen((_, response) => response.end("the engine"));
  proxy = await listen((_, response) => response.end("the proxy"));
});
afterAll(() => {
  engine.close();
  proxy.close();
});

/** What a process of its own gets from the address, for a runtime may read its environment at the start alone. */
function getFrom(url: string, environment: Record<string, string>): Promise<string> {
  const onBun = process.versions["bun"] !== undefined;
  const args = [...(onBun ? [] : ["--import", "tsx"]), "tests/support/programs/get.ts", url];
  const child = spawn(process.execPath, args, {
    env: { PATH: "/usr/bin:/bin", ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  return new Promise((resolve) => child.once("close", () => resolve(output)));
}

describe("The HTTP client", () => {
  it("calls an engine itself, whatever proxy the environment names", async () => {
    const settings = { HTTP_PROXY: addressOf(proxy), http_proxy: addressOf(proxy) };
    expect(await getFrom(addressOf(engine), settings)).toBe("the engine");
  });
});
