import { describe, expect, it } from "vitest";
import { createFetchClient } from "../../../src/lib/http/fetch-client.ts";
import { never, startRawServer } from "../../backends/support.ts";

describe("The client of https servers on Bun", () => {
  it("ends a call whose server does not answer the handshake, as one without a connection", async () => {
    const server = await startRawServer((socket) => socket.resume());
    const client = createFetchClient({ patienceMs: 20, probeMs: 50 });
    try {
      const url = server.address.replace("http:", "https:");
      const sending = client.send({ url, method: "GET", headers: {}, signal: never() });
      await expect(sending).rejects.toMatchObject({ code: "CONNECT_TIMEOUT" });
      // The call's own connection and that of the probe.
      await server.allClosed();
      expect(server.connections()).toBe(2);
    } finally {
      await server.stop();
    }
  });
});
