import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { randomBase62 } from "../../../src/lib/id.ts";
import { hashWebhookUrl } from "../../../src/workflows/records/webhook-credential.ts";
import { callHttp, type HttpCall } from "../../support/clients/http-session.ts";
import { openRawClient, type RawClient, rawRequest } from "../../support/clients/raw-client.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { openStoreStage, type StoreStage } from "../../support/stages/knowledge/store-stage.ts";
import { insertWorkflow } from "../../support/workflows/run-stage.ts";

const MB = 1024 * 1024;
const SECRET = `whk_${randomBase62(43)}`;
const ADDRESS = `whu_${randomBase62(43)}`;
const WORKFLOW = `wf_${randomBase62(22)}`;
const UNKNOWN = `wf_${randomBase62(22)}`;
const FAKE = { "x-hub-signature-256": `sha256=${"0".repeat(64)}` };

let stage: StoreStage;
const clients: RawClient[] = [];

beforeAll(async () => {
  stage = await openStoreStage(databaseServerUrl, { WORKFLOW_CONCURRENCY: "0" });
  await insertWorkflow(stage.deps.workflows.database, {
    id: WORKFLOW,
    ownerId: stage.owner.id,
    webhookSecret: stage.deps.workflows.secretBox.seal(SECRET, WORKFLOW),
    webhookUrlHash: hashWebhookUrl(ADDRESS),
  });
});
afterEach(() => {
  for (const client of clients.splice(0)) client.reset();
});
afterAll(() => stage.close());

type Sent = Partial<HttpCall> & { readonly id?: string };
const send = ({ id = WORKFLOW, ...call }: Sent) =>
  callHttp(stage.served.url, {
    method: "POST",
    path: `/api/pipeline/webhook/${id}`,
    body: "[]",
    ...call,
  });
const signed = (body: string) =>
  `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
const sendSigned = (body: string) =>
  send({ body, headers: { "x-hub-signature-256": signed(body) } });

/** A call without a proof that announces 32 MiB and sends this much of them. */
async function openForged(id: string, sentBytes: number): Promise<RawClient> {
  const client = await openRawClient(Number(new URL(stage.served.url).port));
  clients.push(client);
  const headers = {
    ...FAKE,
    "content-type": "application/json",
    "content-length": String(32 * MB),
  };
  await client.sendWhole(rawRequest("POST", `/api/pipeline/webhook/${id}`, headers));
  client.send(" ".repeat(sentBytes));
  return client;
}

/** Neither a queue that is full (429) nor a repetition matters here, only that the body had room. */
const isTaken = ({ status }: { readonly status: number }) => [202, 429].includes(status);

test("bodies that are announced and never sent take no room", async () => {
  const forged = await Promise.all(Array.from({ length: 12 }, () => openForged(WORKFLOW, 0)));
  // They arrive meanwhile.
  for (let call = 0; call < 15; call += 1) {
    expect(await sendSigned("[]")).toSatisfy(isTaken);
    expect(await send({ token: SECRET })).toSatisfy(isTaken);
  }
  expect(forged.map((client) => client.received().length)).toEqual(forged.map(() => 0));
});

test("bodies without a proof take no room of senders who are known", async () => {
  const forged = await Promise.all([30, 30, 30].map((size) => openForged(WORKFLOW, size * MB)));
  const refused = await Promise.race(
    forged.map((client) => client.readResponse({ method: "POST" })),
  );
  expect([refused.status, refused.header("retry-after")]).toEqual([503, "1"]);
  const large = `[]${" ".repeat(16 * MB)}`;
  const known: Sent[] = [
    { token: SECRET },
    { headers: { "x-webhook-secret": SECRET } },
    { token: stage.owner.key },
    { token: stage.owner.session },
    { id: ADDRESS },
  ];
  for (const call of known) expect(await send({ ...call, body: large })).toSatisfy(isTaken);
  for (const client of forged) client.reset();
  await expect
    .poll(async () => isTaken(await sendSigned(large)), { timeout: 30_000, interval: 200 })
    .toBe(true);
});

test("bodies for an unknown webhook are not kept", async () => {
  const whole = " ".repeat(32 * MB);
  const forged = Array.from({ length: 4 }, () => send({ id: UNKNOWN, headers: FAKE, body: whole }));
  const statuses = (await Promise.all(forged)).map(({ status }) => status);
  expect(statuses).toEqual([404, 404, 404, 404]);
});

test.each<[string, Sent, number]>([
  ["is whole", {}, 404],
  ["is empty", { body: "" }, 404],
  ["is no JSON", { body: "[" }, 404],
  ["is text", { headers: { "content-type": "text/plain" } }, 415],
  ["is compressed", { headers: { "content-encoding": "gzip" } }, 415],
  ["is too long", { body: " ".repeat(32 * MB + 1) }, 413],
])(
  "a body without a proof that %s does not tell whether the webhook exists",
  async (_, call, status) => {
    const headers = { ...FAKE, ...call.headers };
    const known = await send({ ...call, headers });
    const unknown = await send({ ...call, headers, id: UNKNOWN });
    expect(known.status).toBe(status);
    expect([unknown.status, unknown.body]).toEqual([known.status, known.body]);
  },
);
