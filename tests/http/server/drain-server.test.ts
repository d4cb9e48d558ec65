import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { drainServer } from "../../../src/http/server/drain-server.ts";
import { createRequestsUnderWay } from "../../../src/http/server/requests-under-way.ts";
import { serve } from "../../../src/http/server/serve.ts";
import { rawRequest } from "../../support/clients/raw-client.ts";

/** More than the system takes in for a client that does not read. */
const LENGTH = 32 * 1024 * 1024;
/** Longer than what is still open after the drain is given. */
const PAUSE_MS = 1_500;

async function serveLongAnswer() {
  const server = await serve({
    host: "127.0.0.1",
    port: 0,
    quietSeconds: 30,
    fetch: () => new Response("x".repeat(LENGTH)),
  });
  const client = connect(server.port, "127.0.0.1");
  client.on("error", () => undefined);
  const closed = new Promise((resolve) => client.once("close", resolve));
  let received = 0;
  client.once("data", () => client.pause());
  client.write(rawRequest("GET", "/", {}));
  client.on("data", (bytes: Buffer) => {
    received += bytes.length;
  });
  await sleep(200);
  const drain = (drainMs: number) =>
    drainServer({
      server,
      underWay: createRequestsUnderWay(),
      openCalls: { abortAll: () => undefined },
      drainMs,
    });
  return { client, closed, drain, received: () => received };
}

describe("a drain", () => {
  it("lets a client read its answer to the end, however slowly", async () => {
    const { client, closed, drain, received } = await serveLongAnswer();
    const drained = drain(60_000);
    await sleep(PAUSE_MS);
    expect(received()).toBeLessThan(LENGTH);
    client.resume();
    await Promise.all([closed, drained]);
    expect(received()).toBeGreaterThan(LENGTH);
  }, 90_000);

  it("waits no longer than it may for a client that does not read", async () => {
    const { client, drain } = await serveLongAnswer();
    await drain(300);
    client.destroy();
  }, 20_000);
});
