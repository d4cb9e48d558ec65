import { sql } from "drizzle-orm";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { Database } from "../../../src/db/database.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { createEgress } from "../../../src/lib/egress/egress.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { createLog } from "../../../src/lib/log.ts";
import { createSecretBox } from "../../../src/lib/secret-box.ts";
import { zeroCounts } from "../../../src/lib/zero-counts.ts";
import { TRY_RESULTS } from "../../../src/queue/topic.ts";
import { createChainHeaders, readCallChain } from "../../../src/workflows/calls-out/call-chain.ts";
import { openNotifications } from "../../../src/workflows/notify/open-notifications.ts";
import { notifyStep } from "../../../src/workflows/steps/notify.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  type AnswerPost,
  answer,
  startWebhookReceiver,
  type WebhookReceiver,
} from "../../support/servers/webhook-receiver.ts";
import { plainRowProcess } from "../../support/workflows/plain-row-process.ts";
import { runStep, type StepCase } from "../../support/workflows/step-stage.ts";

const SIGNING_KEY = `whsec_${Buffer.from("a key of the tests, 32 bytes lon").toString("base64")}`;
const secretBox = createSecretBox(Buffer.alloc(32));
const WAIT = { timeout: 30_000, interval: 20 };

let database: Database;
let receiver: WebhookReceiver;
let now: number;
const secretValues = new Map<string, string>();
const secrets = {
  read: async (_owner: string, name: string) => secretValues.get(name),
  exists: async (_owner: string, name: string) => secretValues.has(name),
};
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
  receiver = await startWebhookReceiver();
});
beforeEach(async () => {
  await database.db.execute(sql`truncate outbox_events`);
  now = Date.now();
  receiver.use(answer(204));
  secretValues.clear();
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(async () => {
  await receiver?.stop();
  await database?.close();
});

function notify(settings: JsonObject, more: Partial<StepCase> = {}) {
  const services = { database, secrets, rowProcess: plainRowProcess, clock: { now: () => now } };
  const kind = notifyStep(services as unknown as StepServices);
  const url = receiver.url;
  const run = { id: "run_1", ownerId: "usr_1", workflowName: "tickets" };
  return runStep(kind, { settings: { url, ...settings }, database, run, ...more });
}

/** The worker of one replica. */
function deliver(allow = ["127.0.0.1"]) {
  const counts = zeroCounts(TRY_RESULTS);
  const { settings } = loadConfig({ OUTBOX_TRY_TIMEOUT_MS: "1000" });
  const base = { settings, database, clock: { now: () => now }, log: createLog("silent") };
  const chainHeaders = createChainHeaders(secretBox);
  const parts = { egress: createEgress({ allow }), secrets, chainHeaders, counts };
  const { close } = openNotifications(base as never, parts);
  closers.push(async () => close?.(1_000));
  return counts;
}

const stored = () => database.db.select().from(outboxEvents);
const only = async () => {
  const [event] = await stored();
  if (event === undefined) throw new Error("nothing is stored");
  return event;
};
const postsOf = (id: string) => receiver.posts().filter((post) => post.id === id);
/** Lets the next try be due. */
async function dueAgain(): Promise<void> {
  now += 25 * 3_600_000;
}

describe("notify", () => {
  test("stores one message about the set with the step's end, and passes the rows on", async () => {
    const rows = [{ name: "a" }, { name: "b" }];
    const done = await notify({ text: "{{ row.count }} tickets in {{ run.id }}" }, { rows });
    expect(done).toMatchObject({ committed: true, outputs: { main: rows } });
    const event = await only();
    expect(event).toMatchObject({ sink: "workflow_notify", kind: "workflow.notify" });
    const counts = deliver();
    await vi.waitFor(() => expect(counts.delivered).toBe(1), WAIT);
    const [post] = postsOf(event.id);
    expect(post?.json).toEqual({
      text: "2 tickets in run_1",
      type: "workflow_notify",
      details: {
        ...{ workflow_id: "wf_stage", workflow: "tickets", run_id: "run_1", step: "step", rows: 2 },
      },
    });
    expect((await only()).deliveredAt).not.toBeNull();
  });

  test("stores a message for each row; a row without the text is treated as the step says", async () => {
    const rows = [{ id: 1 }, { name: "no id" }, { id: 3 }];
    const settings = { text: "ticket {{ row.id }}", each: "row" };
    const done = await notify(settings, { rows, onRowError: "route" });
    expect(done.outputs.main).toEqual([{ id: 1 }, { id: 3 }]);
    expect(done.outputs["errors"]).toMatchObject([{ name: "no id", _error: { row: 2 } }]);
    const texts = (await stored()).map(({ body }) => (body["message"] as JsonObject)["text"]);
    expect(texts.sort()).toEqual(["ticket 1", "ticket 3"]);
    await expect(notify(settings, { rows })).rejects.toMatchObject({
      name: "StepFailure",
      row: 2,
      code: "expression_failed",
    });
    expect(await stored()).toHaveLength(2);
  });

  test("stores nothing when the step's transaction fails", async () => {
    const failing = {
      db: {
        transaction: (work: (transaction: unknown) => Promise<unknown>) =>
          database.db.transaction(async (transaction) => {
            await work(transaction);
            throw new Error("the run was taken over");
          }),
      },
    } as unknown as Database;
    const given = { rows: [{ id: 1 }], database: failing };
    await expect(notify({ text: "x" }, given)).rejects.toThrow("the run was taken over");
    expect(await stored()).toEqual([]);
  });

  test("sends a body of its own, whose texts are filled in and whose numbers stay", async () => {
    const body = { channel: "#ops", blocks: [{ text: "{{ row.count }} rows", level: 3 }] };
    await notify({ text: "-", body }, { rows: [{ a: 1 }] });
    const counts = deliver();
    await vi.waitFor(() => expect(counts.delivered).toBe(1), WAIT);
    expect(postsOf((await only()).id)[0]?.json).toEqual({
      channel: "#ops",
      blocks: [{ text: "1 rows", level: 3 }],
    });
  });

  test("only tells in a test of the step", async () => {
    const done = await notify({ text: "hello" }, { rows: [{}], isTest: true });
    expect(done.told).toHaveLength(1);
    expect(done.told[0]).toContain('"text":"hello"');
    expect(await stored()).toEqual([]);
  });

  test("refuses more than 1,000 messages, and one that is too large", async () => {
    const rows = Array.from({ length: 1_001 }, (_, id) => ({ id }));
    await expect(notify({ text: "x", each: "row" }, { rows })).rejects.toMatchObject({
      code: "too_many_messages",
    });
    const long = [{ text: "x".repeat(300_000) }];
    await expect(
      notify({ text: "{{ row.rows }}", each: "set" }, { rows: long }),
    ).rejects.toMatchObject({ code: "message_too_large" });
  });

  test("of a row that is too large is that row's error, and the others are stored", async () => {
    const rows = [{ text: "a" }, { text: "x".repeat(300_000) }, { text: "c" }];
    const settings = { text: "{{ row.text }}", each: "row" };
    const done = await notify(settings, { rows, onRowError: "skip" });
    expect(done).toMatchObject({
      ...{ committed: true, rowErrors: 1, outputs: { main: [{ text: "a" }, { text: "c" }] } },
      firstRowError: { row: 2, code: "message_too_large" },
    });
    expect(await stored()).toHaveLength(2);
  });

  test("leaves out the characters that the database cannot store", async () => {
    const rows = [{ t: "ok" }, { t: "nul \0." }, { t: "half \ud83d." }];
    const done = await notify({ text: "{{ row.t }}", each: "row" }, { rows });
    expect(done).toMatchObject({ committed: true, outputs: { main: rows } });
    const messages = async () => (await stored()).map(({ body }) => body["message"]);
    expect(await messages()).toMatchObject([{ text: "ok" }, { text: "nul ." }, { text: "half ." }]);
    await database.db.execute(sql`truncate outbox_events`);
    const body = { list: ["{{ row.t }}"], level: 3 };
    await notify({ text: "-", body, each: "row" }, { rows: rows.slice(1, 2) });
    expect(await messages()).toContainEqual({ list: ["nul ."], level: 3 });
  });

  test("takes the address from a secret and signs with another; neither is stored", async () => {
    secretValues.set("hook", receiver.url).set("key", SIGNING_KEY);
    await notify({ url: { secret: "hook" }, sign_with: "key", text: "signed" }, { rows: [{}] });
    const event = await only();
    expect(JSON.stringify(event)).not.toContain(String(receiver.port));
    expect(JSON.stringify(event)).not.toContain("whsec_");
    const counts = deliver();
    await vi.waitFor(() => expect(counts.delivered).toBe(1), WAIT);
    const [post] = postsOf(event.id);
    const headers = Object.fromEntries(
      ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [
        name,
        post?.header(name) ?? "",
      ]),
    );
    expect(() => new Webhook(SIGNING_KEY).verify(post?.body ?? "", headers)).not.toThrow();
  });

  test("is given up with a reason when its secret was deleted", async () => {
    secretValues.set("hook", receiver.url);
    await notify({ url: { secret: "hook" }, text: "x" }, { rows: [{}] });
    secretValues.clear();
    const counts = deliver();
    await vi.waitFor(() => expect(counts.given_up).toBe(1), WAIT);
    expect((await only()).lastError).toContain("has no secret 'hook'");
  });

  test("does not reach a private address that EGRESS_ALLOW does not name", async () => {
    const before = receiver.posts().length;
    await notify({ text: "x" }, { rows: [{}] });
    const counts = deliver([]);
    await vi.waitFor(() => expect(counts.given_up).toBe(1), WAIT);
    expect(receiver.posts()).toHaveLength(before);
    expect((await only()).lastError).toContain("the address is not reached");
  });
});

describe("W08: faults of the receiver of notify", () => {
  const faults: readonly (readonly [name: string, fault: AnswerPost])[] = [
    ["a closed connection", ({ socket }) => void socket.destroy()],
    ["500", answer(500)],
    ["429 with Retry-After", answer(429, ["retry-after: 3"])],
    ["no answer in time", () => undefined],
    ["301", answer(301, ["location: http://127.0.0.1:1/elsewhere"])],
    ["a reset after the body", ({ socket }) => void socket.resetAndDestroy()],
  ];
  test.each(faults)(
    "%s is tried again with the same webhook-id until a 2xx, then never",
    async (_, fault) => {
      await notify({ text: "x" }, { rows: [{}] });
      const { id } = await only();
      receiver.use(fault);
      const counts = deliver();
      await vi.waitFor(() => expect(counts.failed).toBe(1), WAIT);
      await vi.waitFor(async () => expect((await only()).leaseUntil).toBeNull(), WAIT);
      const failed = await only();
      expect(failed).toMatchObject({ attempts: 1, deadAt: null, deliveredAt: null });
      // By the schedule, 5 s ± 20 % after the first try.
      const pauseMs = failed.nextAttemptAt.getTime() - now;
      expect(pauseMs).toBeGreaterThanOrEqual(3_000);
      expect(pauseMs).toBeLessThanOrEqual(6_000);
      receiver.use(answer(200));
      await dueAgain();
      await vi.waitFor(() => expect(counts.delivered).toBe(1), WAIT);
      expect(postsOf(id)).toHaveLength(2);
      await vi.waitFor(async () => expect((await only()).deliveredAt).not.toBeNull(), WAIT);
    },
  );

  test("a webhook of this service gets the run's chain, and its answer that it is a loop is final", async () => {
    const url = receiver.url.replace("/hook", "/api/pipeline/webhook/wf_abc");
    const run = { id: "run_1", ownerId: "usr_1", workflowId: "wf_abc", chain: ["wf_first"] };
    await notify({ text: "x", url }, { rows: [{}], run });
    const { id } = await only();
    // Another 409, such as that of a run that is active, passes.
    receiver.use(answer(409, [], '{"error":{"code":"run_active"}}'));
    const counts = deliver();
    await vi.waitFor(() => expect(counts.failed).toBe(1), WAIT);
    await vi.waitFor(async () => expect((await only()).leaseUntil).toBeNull(), WAIT);
    const sent = new Headers({
      "x-workflow-chain": postsOf(id)[0]?.header("x-workflow-chain") ?? "",
    });
    expect(readCallChain(secretBox, sent, "wf_abc")).toEqual(["wf_first", "wf_abc"]);
    receiver.use(answer(409, [], '{"error":{"code":"workflow_loop"}}'));
    await dueAgain();
    await vi.waitFor(() => expect(counts.given_up).toBe(1), WAIT);
    await vi.waitFor(async () => expect((await only()).deadAt).not.toBeNull(), WAIT);
    expect((await only()).lastError).toContain("workflow_loop");
  });

  test("410 stops it at once", async () => {
    await notify({ text: "x" }, { rows: [{}] });
    receiver.use(answer(410));
    const counts = deliver();
    await vi.waitFor(() => expect(counts.given_up).toBe(1), WAIT);
    await vi.waitFor(async () => expect((await only()).deadAt).not.toBeNull(), WAIT);
  });

  test("after the last try it is dead and counted once", async () => {
    await notify({ text: "x" }, { rows: [{}] });
    await database.db.update(outboxEvents).set({ attempts: 9 });
    receiver.use(answer(503));
    const counts = deliver();
    await vi.waitFor(() => expect(counts.given_up).toBe(1), WAIT);
    expect(counts).toEqual({ delivered: 0, failed: 0, given_up: 1 });
    await vi.waitFor(async () => expect((await only()).deadAt).not.toBeNull(), WAIT);
  });
});
