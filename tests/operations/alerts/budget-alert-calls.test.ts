import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { callGateway, chatBody } from "../../support/clients/call-gateway.ts";
import { expireLeases } from "../../support/faults/expire-leases.ts";
import { type KeptPlace, makeKeptPlace } from "../../support/servers/databases/kept-place.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import {
  answer,
  signatureOf,
  startWebhookReceiver,
  type WebhookReceiver,
} from "../../support/servers/webhook-receiver.ts";
import { licenseText, vendor } from "../../support/stages/access/test-license.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const MODEL = "sim-chat";
const LIMIT = 2_000;
const SECRET = "the alert receiver's secret";
const WAIT = { timeout: 60_000, interval: 20 };
/** So long nothing more comes where nothing is to come. */
const QUIET_MS = 1_500;
const CALLS_MAX = 200;
const BOTH = ["key_budget_exceeded", "key_budget_warning"];

let simulator: TestSimulator;
let receiver: WebhookReceiver;
let folder: string;
let place: KeptPlace;
let gateway: TestGateway;

beforeAll(async () => {
  simulator = await startSimulator();
  receiver = await startWebhookReceiver();
  folder = await mkdtemp(join(tmpdir(), "budget-alerts-"));
  place = await makeKeptPlace();
});

afterEach(() => gateway.stop());

afterAll(async () => {
  await simulator.stop();
  await receiver.stop();
  await place.remove();
  await rm(folder, { recursive: true, force: true });
});

const clockFile = () => join(folder, "offset");

/** Sets the gateway's clock to an hour of a day of next month, so that no month ends in between. */
async function setDay(day: number, hour = 12): Promise<void> {
  const today = new Date();
  const time = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, day, hour);
  await writeFile(clockFile(), String((time - today.getTime()) / 1_000));
}

async function start(): Promise<TestGateway> {
  const licenseFile = join(folder, "test.lic");
  await writeFile(licenseFile, licenseText({ kind: "perpetual", expires_at: null }));
  return startGateway({
    ...place.settings,
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    ALERT_WEBHOOK_URL: receiver.url,
    ALERT_WEBHOOK_SECRET: SECRET,
    ALLOW_TEST_CLOCK: "1",
    // The clock is set far ahead: the evaluation would end by it.
    LICENSE_PUBLIC_KEY: vendor.publicKey,
    LICENSE_FILE: licenseFile,
    TEST_CLOCK_FILE: clockFile(),
  });
}

async function createKey(): Promise<{ id: string; key: string }> {
  const body = { name: "budgeted", monthly_token_limit: LIMIT };
  const response = await callGateway(gateway.port, { path: "/v1/api-keys", body });
  expect([response.status, response.status === 201 ? "" : response.text]).toEqual([201, ""]);
  return response.json() as { id: string; key: string };
}

async function call(key: string): Promise<number> {
  const { status } = await callGateway(gateway.port, {
    headers: { authorization: `Bearer ${key}` },
    body: chatBody(MODEL, { max_tokens: 100 }),
  });
  return status;
}

/** Calls until the month's limit refuses. */
async function useUp(key: string): Promise<void> {
  for (let calls = 0; calls < CALLS_MAX; calls += 1) {
    const status = await call(key);
    if (status === 429) return;
    expect(status).toBe(200);
  }
  throw new Error("the limit never refused");
}

/** The types of all posts so far, once there are so many, and no more come. */
async function typesOnceThere(count: number): Promise<readonly string[]> {
  await vi.waitFor(() => expect(receiver.posts().length).toBeGreaterThanOrEqual(count), WAIT);
  await sleep(QUIET_MS);
  return receiver.posts().map(({ json }) => json.type);
}

describe("a key that uses up its month", () => {
  test("is told of once a day, signed, and again on the next day, over restarts", async () => {
    await setDay(10);
    gateway = await start();
    const { id, key } = await createKey();
    await useUp(key);
    expect((await typesOnceThere(2)).toSorted()).toEqual(BOTH);
    for (const post of receiver.posts()) {
      expect(post.header("webhook-signature")).toBe(signatureOf(post, Buffer.from(SECRET)));
      expect(post.json.details).toMatchObject({
        key_id: id,
        key_name: "budgeted",
        monthly_token_limit: LIMIT,
      });
    }

    await gateway.stop();
    gateway = await start();
    expect(await call(key)).toBe(429);
    expect(await typesOnceThere(2)).toHaveLength(2);

    await setDay(11);
    // The server reads its clock's file some time later.
    await vi.waitFor(async () => {
      expect(await call(key)).toBe(429);
      expect(receiver.posts().length).toBeGreaterThan(2);
    }, WAIT);
    expect((await typesOnceThere(4)).slice(2).toSorted()).toEqual(BOTH);
  });

  test("is told of after a kill too, once the lease has run out", async () => {
    await setDay(12);
    gateway = await start();
    const { key } = await createKey();
    const before = receiver.posts().length;
    receiver.use(() => undefined);
    await useUp(key);
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(before + 2), WAIT);
    gateway.kill("SIGKILL");
    await gateway.exited;

    receiver.use(answer(204));
    await expireLeases(place.settings);
    await setDay(12, 13);
    gateway = await start();
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(before + 4), WAIT);
    const ids = receiver.posts().slice(before);
    expect(new Set(ids.map((post) => post.id)).size).toBe(2);
    expect(await call(key)).toBe(429);
    expect(await typesOnceThere(before + 4)).toHaveLength(before + 4);
  });
});
