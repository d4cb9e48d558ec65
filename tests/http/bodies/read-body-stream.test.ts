import { afterEach, describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/core/service-error.ts";
import { readBodyStream } from "../../../src/http/bodies/read-body-stream.ts";
import { FORM_TYPE } from "../../support/clients/audio-form.ts";
import { openCall } from "../../support/clients/call-gateway.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";

let gateway: TestGateway | undefined;
afterEach(async () => {
  gateway?.kill("SIGKILL");
  await gateway?.exited;
});

describe("a body that is read while it arrives", () => {
  it("is waited for no longer when the gateway ends its call, and is given up", async () => {
    let isCancelled = false;
    const body = new ReadableStream({
      cancel() {
        isCancelled = true;
      },
    });
    const init = { method: "POST", body, duplex: "half" };
    const request = new Request("http://gateway/", init as RequestInit);
    const call = new AbortController();
    let isBroken = false;
    const limits = { maxBytes: 1_000, signal: call.signal };
    const stream = readBodyStream(request, limits, () => {
      isBroken = true;
    });
    const reading = stream[Symbol.asyncIterator]().next();
    const reason = new ServiceError("overloaded", "The server is stopping.");
    call.abort(reason);
    await expect(reading).rejects.toBe(reason);
    expect({ isBroken, isCancelled }).toEqual({ isBroken: false, isCancelled: true });
  });

  it("is answered in its family's form when the server stops before anything of use has come", async () => {
    gateway = await startGateway({ LLM_BACKEND: "vllm", DRAIN_TIMEOUT_MS: "300" });
    const headers = { ...FORM_TYPE, "content-length": "1000" };
    const client = await openCall(gateway.port, {
      path: "/v1/audio/transcriptions",
      headers,
      body: "--",
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    gateway.kill("SIGTERM");
    const response = await client.readResponse({ method: "POST", timeoutMs: 20_000 });
    expect([response.status, JSON.parse(response.text).error.code]).toEqual([503, "overloaded"]);
    client.close();
    expect(await gateway.exited).toBe(0);
  }, 120_000);
});
