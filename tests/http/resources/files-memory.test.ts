import { afterAll, beforeAll, expect, it } from "vitest";
import { FILE_FORM_TYPE, fileForm } from "../../support/clients/file-form.ts";
import { openRawClient, rawRequest } from "../../support/clients/raw-client.ts";
import { memoryMb } from "../../support/processes/process-use.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";

const MIB = 1024 * 1024;
/** A heap grows by this much while anything is done; a body that is held would take its whole size. */
const GROWTH_MB = 80;
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({
    FILE_MAX_BYTES: String(512 * MIB),
    // An upload is not one of the bodies that this bounds.
    BODIES_IN_HAND_MB: "16",
    LLM_BASE_URL: "http://127.0.0.1:9",
  });
});
afterAll(() => gateway?.stop());

/** Uploads as fast as the server takes it; returns how far its memory went beyond what it had before. */
async function upload(mebibytes: number): Promise<number> {
  const before = memoryMb(gateway.pid);
  let most = before;
  const content = Buffer.alloc(MIB, "0123456789abcdef");
  const [head, tail] = split(fileForm({ content: "@" }));
  const raw = await openRawClient(gateway.port);
  const length = head.length + tail.length + mebibytes * MIB;
  raw.send(
    rawRequest("POST", "/v1/files", {
      authorization: `Bearer ${TEST_KEY}`,
      "content-type": FILE_FORM_TYPE,
      "content-length": String(length),
    }),
  );
  raw.send(head);
  for (let sent = 0; sent < mebibytes; sent += 1) {
    await raw.sendWhole(content);
    most = Math.max(most, memoryMb(gateway.pid));
  }
  raw.send(tail);
  const response = await raw.readResponse();
  expect(response.status).toBe(200);
  expect(response.json()).toMatchObject({ bytes: mebibytes * MIB });
  raw.close();
  return Math.max(most, memoryMb(gateway.pid)) - before;
}

function split(form: Buffer): readonly [Buffer, Buffer] {
  const at = form.lastIndexOf("@");
  return [form.subarray(0, at), form.subarray(at + 1)];
}

it("4.6 an upload of 300 MB is never held in memory", async () => {
  await upload(100);
  expect(await upload(300)).toBeLessThan(GROWTH_MB);
}, 240_000);
