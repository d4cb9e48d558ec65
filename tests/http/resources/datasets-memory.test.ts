import { afterAll, beforeAll, expect, it } from "vitest";
import { openRawClient, rawRequest } from "../../support/clients/raw-client.ts";
import { memoryMb } from "../../support/processes/process-use.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";

const MIB = 1024 * 1024;
/** A heap grows by this much while anything is done; a body that is held would take its whole size. */
const GROWTH_MB = 80;
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({
    // An import is not one of the bodies that this bounds.
    BODIES_IN_HAND_MB: "16",
    LLM_BASE_URL: "http://127.0.0.1:9",
  });
});
afterAll(() => gateway?.stop());

/** Sends rows of a CSV as fast as the server takes them; returns how far its memory went beyond what it had before. */
async function send(mebibytes: number): Promise<number> {
  const before = memoryMb(gateway.pid);
  let most = before;
  const line = `${"0123456789abcdef".repeat(4_095)}1234567\n`;
  const piece = Buffer.from(line.repeat(16)).subarray(0, MIB);
  const head = Buffer.from("text\n");
  const raw = await openRawClient(gateway.port);
  raw.send(
    rawRequest("POST", `/api/datasets/import?name=large_${mebibytes}&key=other`, {
      authorization: `Bearer ${TEST_KEY}`,
      "content-type": "text/csv",
      "content-length": String(head.length + mebibytes * piece.length),
    }),
  );
  raw.send(head);
  for (let sent = 0; sent < mebibytes; sent += 1) {
    await raw.sendWhole(piece);
    most = Math.max(most, memoryMb(gateway.pid));
  }
  // A quarter of a gigabyte is parsed, beside other tests.
  const response = await raw.readResponse({ method: "POST", timeoutMs: 180_000 });
  // The whole file was read for its columns, and there is no column for the key.
  expect(response.json()).toMatchObject({ error: { param: "key[0]" } });
  raw.close();
  return Math.max(most, memoryMb(gateway.pid)) - before;
}

it("an import of 240 MB is never held in memory", async () => {
  await send(60);
  expect(await send(240)).toBeLessThan(GROWTH_MB);
}, 240_000);

it("an import beyond 256 MiB is refused before it is read", async () => {
  const raw = await openRawClient(gateway.port);
  raw.send(
    rawRequest("POST", "/api/datasets/import?name=too_large", {
      authorization: `Bearer ${TEST_KEY}`,
      "content-type": "text/csv",
      "content-length": String(256 * MIB + 1),
    }),
  );
  const response = await raw.readResponse();
  expect(response.status).toBe(413);
  raw.close();
});
