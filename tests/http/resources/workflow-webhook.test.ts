import { createHmac } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { users } from "../../../src/db/tables/users.ts";
import { activeRuns, workflowRuns, workflows } from "../../../src/db/tables/workflows.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { hashWebhookUrl } from "../../../src/workflows/records/webhook-credential.ts";
import { callHttp, type HttpCall } from "../../support/clients/http-session.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { openStoreStage, type StoreStage } from "../../support/stages/knowledge/store-stage.ts";
import { insertWorkflow, queueOf, runsOf } from "../../support/workflows/run-stage.ts";

const SECRET = `whk_${randomBase62(43)}`;
const LOCATION = /^\/api\/pipeline\/runs\/run_[0-9A-Za-z]{24}$/;

let stage: StoreStage;
let workflow: string;

beforeAll(async () => {
  stage = await openStoreStage(databaseServerUrl, {
    PIPELINE_MAX_QUEUED_RUNS: "3",
    // No run ends here.
    WORKFLOW_CONCURRENCY: "0",
  });
});
beforeEach(async () => {
  workflow = await addWorkflow();
});
afterEach(() => stage.clock.moveTo(0, []));
afterAll(() => stage.close());

const database = () => stage.deps.workflows.database;
async function addWorkflow(fields: Partial<typeof workflows.$inferInsert> = {}): Promise<string> {
  const id = `wf_${randomBase62(22)}`;
  const webhookSecret = stage.deps.workflows.secretBox.seal(SECRET, id);
  return insertWorkflow(database(), { id, ownerId: stage.owner.id, webhookSecret, ...fields });
}
type Sent = Partial<HttpCall> & { readonly id?: string };
const send = ({ id = workflow, ...call }: Sent = {}) =>
  callHttp(stage.served.url, {
    method: "POST",
    path: `/api/pipeline/webhook/${id}`,
    body: [{ a: 1 }],
    ...call,
  });
const withSecret = (call: Sent = {}) => send({ token: SECRET, ...call });
const runs = (id = workflow) => runsOf(database(), id);

describe("a webhook", () => {
  test.each<[string, unknown, number]>([
    ["an object", { a: 1 }, 1],
    ["objects", [{ a: 1 }, { a: 2 }], 2],
    ["a mixed array", [{ a: 1 }, 2, [3]], 3],
    ["scalars", [1, "a", null], 3],
    ["nested arrays", [[1, 2], []], 2],
    ["nothing", [], 0],
  ])("of %s is answered with 202, its run, and how many rows it brings", async (_, body, count) => {
    const answer = await withSecret({ body });
    expect(answer.status).toBe(202);
    const [run] = await runs();
    expect(answer.body).toEqual({
      ...{ runId: run?.id, status: "running", pipelineId: workflow, rowsReceived: count },
    });
    expect(answer.headers.get("location")).toMatch(LOCATION);
    expect(answer.headers.get("location")).toBe(`/api/pipeline/runs/${run?.id}`);
    expect(run).toMatchObject({
      rowsReceived: count,
      trigger: { kind: "webhook", auth: "secret" },
    });
  });

  test("queues behind the running run, and is refused with 429 when the queue is full", async () => {
    const answers = [];
    for (let index = 0; index < 6; index += 1) answers.push(await withSecret());
    expect(answers.map(({ status, body }) => body.status ?? status)).toEqual([
      ...["running", "queued", "queued", "queued", 429, 429],
    ]);
    expect(answers[4]?.body.error).toMatchObject({ code: "queue_full", type: "rate_limit_error" });
    expect(answers[4]?.headers.get("retry-after")).toBe("5");
    expect(await runs()).toHaveLength(4);
    expect((await queueOf(database(), workflow)).discarded).toEqual({ queue_full: 2 });
    expect(stage.deps.workflows.discards.queue_full).toBeGreaterThanOrEqual(2);
  });

  test.each([
    ["the mean of the last ten runs less the age of the current one", 30, 10, "20"],
    ["a second at least", 30, 90, "1"],
    ["ten minutes at most", 7_200, 0, "600"],
  ])("that finds the queue full is told to wait for %s", async (_, mean, age, wait) => {
    for (let index = 0; index < 4; index += 1) await withSecret();
    const [running] = await runs();
    const now = stage.clock.now();
    const earlier = Array.from({ length: 12 }, (_, index) => ({
      ...(running as NonNullable<typeof running>),
      ...{ id: `run_0000${randomBase62(20)}`, number: -20 + index, status: "completed" as const },
      queuedAt: new Date(now - 100_000 + index),
      startedAt: new Date(now - 50_000_000),
      // The first two are further back than ten.
      endedAt: new Date(now - 50_000_000 + (index < 2 ? 1e9 : mean * 1_000)),
    }));
    await database().db.insert(workflowRuns).values(earlier);
    await database()
      .db.update(activeRuns)
      .set({ startedAt: new Date(now - age * 1_000) })
      .where(eq(activeRuns.runId, running?.id ?? ""));
    const answer = await withSecret();
    expect([answer.status, within(answer.headers.get("retry-after"), Number(wait))]).toEqual([
      ...[429, true],
    ]);
  });
  /** The clock goes on between the insert and the call. */
  const within = (text: string | null, wanted: number) =>
    Number(text) <= wanted && Number(text) >= Math.max(1, wanted - 5);
});

describe("the credential of a webhook", () => {
  const body = '{"text":"ü", "n":1}';
  const sign = (at: number, secret = SECRET, signedBody = body) => {
    const webhook = new Webhook(`whsec_${Buffer.from(secret).toString("base64")}`);
    return {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(at / 1_000)),
      "webhook-signature": webhook.sign("msg_1", new Date(at), signedBody),
    };
  };
  const hub = (secret = SECRET, signedBody = body) => ({
    "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(signedBody).digest("hex")}`,
  });

  test.each<[string, string, () => Sent]>([
    ["its secret as a bearer", "secret", () => ({ token: SECRET })],
    ["its secret in a header", "secret", () => ({ headers: { "x-webhook-secret": SECRET } })],
    ["a signature of Standard Webhooks", "standard", () => ({ headers: sign(Date.now()) })],
    ["a signature of GitHub's kind", "hub", () => ({ headers: hub() })],
    ["its owner's key", "key", () => ({ token: stage.owner.key })],
    ["its owner's session", "session", () => ({ token: stage.owner.session })],
    ["its owner's cookie", "session", () => ({ headers: cookie() })],
    ["an administrator's key", "key", () => ({ headers: { "x-api-key": stage.admin.key } })],
  ])("is %s", async (_, auth, call) => {
    const answer = await send({ body, ...call() });
    expect([answer.status, answer.body.rowsReceived]).toEqual([202, 1]);
    expect((await runs())[0]?.trigger).toEqual({ kind: "webhook", auth });
  });
  const cookie = () => ({
    cookie: `gateway_session=${stage.owner.session}`,
    "sec-fetch-site": "same-origin",
  });

  test("may be that of any user when the workflow is for everyone", async () => {
    workflow = await addWorkflow({ visibility: "everyone" });
    expect((await send({ token: stage.other.key })).status).toBe(202);
  });

  test("of Standard Webhooks is good for one run, whatever other key comes with it", async () => {
    const headers = sign(Date.now());
    const first = await send({ body, headers });
    expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([202, null]);
    for (const key of ["another", "y".repeat(256)]) {
      const again = await send({ body, headers: { ...headers, "idempotency-key": key } });
      expect([again.status, again.body]).toEqual([202, first.body]);
      expect(again.headers.get("idempotency-replayed")).toBe("true");
    }
    expect(await runs()).toHaveLength(1);
  });

  test("is missing: 401, whatever the address", async () => {
    const answers = [
      await send(),
      await send({ id: `wf_${randomBase62(22)}` }),
      await send({ id: "x" }),
    ];
    answers.push(await send({ headers: { "webhook-id": "msg_1" } }));
    for (const { status, body: answer, headers } of answers) {
      expect([status, answer.error.code]).toEqual([401, "invalid_api_key"]);
      expect(headers.get("www-authenticate")).toBe("Bearer");
      expect(answer).toEqual(answers[0]?.body);
    }
  });

  test.each<[string, () => Sent]>([
    ["another secret", () => ({ token: `whk_${randomBase62(43)}` })],
    ["an empty secret", () => ({ headers: { "x-webhook-secret": "" } })],
    ["a signature under another secret", () => ({ headers: sign(Date.now(), "whk_other") })],
    ["a signature of another body", () => ({ headers: sign(Date.now(), SECRET, "{}") })],
    ["an old signature", () => ({ headers: sign(Date.now() - 310_000) })],
    ["a signature of the future", () => ({ headers: sign(Date.now() + 310_000) })],
    ["another signature of GitHub's kind", () => ({ headers: hub("whk_other") })],
    ["the key of another user", () => ({ token: stage.other.key })],
    ["the session of another user", () => ({ token: stage.other.session })],
  ])("that is %s finds no such webhook, as for an unknown address", async (_, call) => {
    const wrong = await send({ body, ...call() });
    const unknown = await send({ body, ...call(), id: `wf_${randomBase62(22)}` });
    expect([wrong.status, wrong.body.error.code]).toEqual([404, "not_found"]);
    expect(unknown.body).toEqual(wrong.body);
    expect(await runs()).toEqual([]);
  });

  test("of a disabled workflow finds nothing, nor does that of a disabled owner", async () => {
    const unknown = (await withSecret({ id: `wf_${randomBase62(22)}` })).body;
    await database().db.update(workflows).set({ enabled: false }).where(eq(workflows.id, workflow));
    for (const call of [{ token: SECRET }, { token: stage.owner.key }, { headers: hub(), body }]) {
      const { status, body: answer } = await send(call);
      expect([status, answer]).toEqual([404, unknown]);
    }
    const ownerId = `usr_${randomBase62(22)}`;
    const user = { id: ownerId, username: ownerId.toLowerCase(), role: "user" as const };
    await database()
      .db.insert(users)
      .values({ ...user, state: "disabled" });
    workflow = await addWorkflow({ ownerId });
    const { status, body: answer } = await withSecret();
    expect([status, answer]).toEqual([404, unknown]);
    expect((await queueOf(database(), workflow)).discarded).toEqual({ owner: 1 });
  });

  test("is never a key that is none", async () => {
    const { status, body: answer } = await send({ token: `sk-${randomBase62(43)}` });
    expect([status, answer.error.code]).toEqual([401, "invalid_api_key"]);
  });

  test("is the address alone where that is a secret", async () => {
    const id = `whu_${randomBase62(43)}`;
    workflow = await addWorkflow({ webhookUrlHash: hashWebhookUrl(id) });
    const answer = await send({ id });
    expect([answer.status, answer.body.pipelineId]).toEqual([202, workflow]);
    expect((await runs())[0]?.trigger).toEqual({ kind: "webhook", auth: "url" });
    expect((await send({ id: `whu_${randomBase62(43)}` })).status).toBe(404);
    expect((await send({ id: "whu_short" })).status).toBe(404);
  });
});

describe("a repetition", () => {
  test("under an idempotency key gets the same answer, and another body 409", async () => {
    const headers = { "idempotency-key": "order 4711" };
    const first = await withSecret({ headers });
    const again = await withSecret({ headers });
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect(first.headers.get("idempotency-replayed")).toBeNull();
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    const other = await withSecret({ headers, body: [{ a: 2 }] });
    expect([other.status, other.body.error.code]).toEqual([409, "idempotency_mismatch"]);
    expect(await runs()).toHaveLength(1);
  });

  test("of 20 at once is one run", async () => {
    const headers = { "webhook-id": "msg_2" };
    const answers = await Promise.all(Array.from({ length: 20 }, () => withSecret({ headers })));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.runId}`)).size).toBe(1);
    const replayed = answers.filter((answer) => answer.headers.has("idempotency-replayed"));
    expect(replayed).toHaveLength(19);
    expect(await runs()).toHaveLength(1);
  });

  test("after 24 hours is another run", async () => {
    const headers = { "idempotency-key": "daily" };
    const first = await withSecret({ headers });
    await stage.clock.moveTo(86_400_000 - 60_000, [
      { port: Number(new URL(stage.served.url).port) },
    ]);
    expect((await withSecret({ headers })).body.runId).toBe(first.body.runId);
    await stage.clock.moveTo(86_400_000 + 1_000, [
      { port: Number(new URL(stage.served.url).port) },
    ]);
    expect((await withSecret({ headers })).body.runId).not.toBe(first.body.runId);
  });

  test.each(["", "x".repeat(256)])("under a key of a wrong length is refused", async (key) => {
    const { status, body } = await withSecret({ headers: { "idempotency-key": key } });
    expect([status, body.error.code, body.error.param]).toEqual([
      ...[400, "invalid_value", "idempotency-key"],
    ]);
    expect(await runs()).toEqual([]);
  });
});

describe("a body that is refused", () => {
  test.each<[string, Sent, number, string]>([
    ["text", { headers: { "content-type": "text/plain" } }, 415, "unsupported_media_type"],
    [
      "a form",
      { headers: { "content-type": "application/x-www-form-urlencoded" } },
      415,
      "unsupported_media_type",
    ],
    ["compressed", { headers: { "content-encoding": "gzip" } }, 415, "unsupported_media_type"],
    ["no JSON", { body: '[{"a":1}' }, 400, "invalid_json"],
    ["a scalar", { body: "4711" }, 400, "invalid_value"],
    ["too many rows", { body: `[${"1,".repeat(100_000)}1]` }, 413, "request_too_large"],
    ["too long", { body: `["${"x".repeat(32 * 1024 * 1024)}"]` }, 413, "request_too_large"],
  ])("as %s starts nothing", async (_, call, status, code) => {
    const answer = await withSecret(call);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(await runs()).toEqual([]);
  });

  test("is not read before its sender is known", async () => {
    const answer = await send({ body: "no JSON", token: stage.other.key });
    expect(answer.status).toBe(404);
  });
});

test("while the database does not take the run the answer is 503, and nothing is stored", async () => {
  await database().db.execute(sql`
    create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'no room' using errcode = '53100'; end $$`);
  await database().db.execute(sql`
    create trigger refuse before insert on workflow_active_runs execute function refuse()`);
  try {
    const answers = await Promise.all([withSecret(), withSecret(), withSecret()]);
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(answers[0]?.body.error.code).toBe("storage_unavailable");
  } finally {
    await database().db.execute(sql`drop trigger refuse on workflow_active_runs`);
  }
  expect(await runs()).toEqual([]);
  expect((await withSecret()).status).toBe(202);
});
