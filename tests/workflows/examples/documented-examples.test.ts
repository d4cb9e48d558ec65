import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { callHttp, type HttpCall, logIn } from "../../support/clients/http-session.ts";
import { issueKey } from "../../support/clients/issue-key.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import {
  startWebhookReceiver,
  type WebhookReceiver,
} from "../../support/servers/webhook-receiver.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";
import { readDocumentedWorkflows } from "../../support/workflows/documented-workflows.ts";

const WAIT = { timeout: 60_000, interval: 50 };
const SIGNING_KEY = "a signing key of the tests";

let root: string;
let served: ServedDeps;
let simulator: TestSimulator;
let receiver: WebhookReceiver;
let token: string;
let keyId: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "examples-"));
  for (const name of ["workspace", "inbox", "inbox/invoices"]) mkdirSync(join(root, name));
  [simulator, receiver] = await Promise.all([startSimulator(), startWebhookReceiver()]);
  served = await serveDeps(databaseServerUrl, {
    ...{ LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url, EMBEDDING_MODEL: "sim-embed" },
    ...{ EGRESS_ALLOW: "127.0.0.1", WATCH_SETTLE_MS: "100" },
    ...{ WORKSPACE_DIR: join(root, "workspace"), WATCH_DIRS: join(root, "inbox") },
  });
  token = await logIn(served.url, "admin", ADMIN_PASSWORD);
  keyId = (await issueKey({ url: served.url }, {})).id;
  await put("chat", receiver.url);
  await put("chat_key", SIGNING_KEY);
}, 120_000);
beforeEach(() => simulator.reset());
afterAll(async () => {
  await served?.close();
  await Promise.all([simulator?.stop(), receiver?.stop()]);
  rmSync(root, { recursive: true, force: true });
});

async function api(call: HttpCall): Promise<JsonObject> {
  const answer = await callHttp(served.url, { token, ...call });
  if (answer.status > 299) throw new Error(`${call.path}: ${answer.status} ${answer.text}`);
  return answer.body as JsonObject;
}
const put = (name: string, secret: string) =>
  api({ method: "PUT", path: `/api/pipeline/secrets/${name}`, body: { secret } });

/** Saves an example as a reader would, with a key. */
async function save(name: string): Promise<JsonObject> {
  const definition = readDocumentedWorkflows().get(name);
  if (definition === undefined) throw new Error(`the documentation has no workflow "${name}"`);
  return api({
    method: "POST",
    path: "/api/pipeline/workflows",
    body: { ...definition, key_id: keyId },
  });
}
const start = (id: unknown) =>
  api({ method: "POST", path: `/api/pipeline/workflows/${id}/runs`, body: {} });

/** Waits until a run of the workflow has ended. */
async function ended(workflow: unknown): Promise<JsonObject> {
  return vi.waitFor(async () => {
    const list = await api({ path: `/api/pipeline/runs?workflow=${workflow}` });
    const [run] = list["data"] as JsonObject[];
    const found = await api({ path: `/api/pipeline/runs/${run?.["runId"]}` });
    expect(["completed", "failed", "stopped"]).toContain(found["status"]);
    return found;
  }, WAIT);
}
async function rowsOf(run: JsonObject, step: string): Promise<readonly JsonObject[]> {
  const page = await api({ path: `/api/pipeline/runs/${run["runId"]}/steps/${step}/rows` });
  return page["data"] as readonly JsonObject[];
}

describe("the examples of the documentation", () => {
  test("are five definitions that are valid as they stand", async () => {
    const names = [...readDocumentedWorkflows().keys()];
    expect(names).toEqual(["invoices", "tickets", "nightly orders", "feedback", "failures"]);
  });

  test("invoices: a file that arrives in a folder becomes a row of a dataset", async () => {
    const { id } = await save("invoices");
    writeFileSync(join(root, "inbox/invoices/a.md"), "Invoice R-17 of ACME, total 119.00 EUR");
    const run = await ended(id);
    expect([run["status"], run["error"]]).toEqual(["completed", null]);
    const [stored] = await rowsOf(run, "store");
    expect(stored).toMatchObject({ file: "invoices/a.md", number: expect.any(String) });
    const sets = await api({ path: "/api/datasets" });
    expect(sets["data"]).toMatchObject([{ name: "invoices", rows: 1 }]);
  });

  test("tickets: an urgent ticket that comes by webhook is told of, a normal one is not", async () => {
    const { id, webhook } = await save("tickets");
    const secret = (webhook as JsonObject)["secret"];
    simulator.script({ text: '{"label": "urgent"}' });
    simulator.script({ text: '{"label": "normal"}' });
    const before = receiver.posts().length;
    const body = [
      { subject: "Server down", text: "Nothing works." },
      { subject: "Hello", text: "Hi." },
    ];
    const sent = await callHttp(served.url, {
      ...{ method: "POST", path: `/api/pipeline/webhook/${id}`, body },
      token: String(secret),
    });
    expect([sent.status, (sent.body as JsonObject)["rowsReceived"]]).toEqual([202, 2]);
    const run = await ended(id);
    expect([run["status"], run["error"]]).toEqual(["completed", null]);
    const told = await rowsOf(run, "tell");
    await vi.waitFor(() => expect(receiver.posts().length - before).toBe(told.length), WAIT);
    expect(told).toHaveLength(1);
    expect(receiver.posts().at(-1)?.json.text).toBe(`Urgent: ${told[0]?.["subject"]}`);
  });

  test("nightly orders: the figures of a database become a summary in a file", async () => {
    fillShop(join(root, "workspace/shop.db"));
    const connection = { name: "shop", kind: "sqlite", file: "workspace/shop.db" };
    await api({ method: "POST", path: "/api/connections", body: connection });
    simulator.script({ text: "Two countries ordered." });
    const { id, schedules } = await save("nightly orders");
    expect((schedules as { next: string[] }[])[0]?.next).toHaveLength(5);
    await start(id);
    const run = await ended(id);
    expect([run["status"], run["error"]]).toEqual(["completed", null]);
    const text = readFileSync(join(root, `workspace/reports/${run["runId"]}.json`), "utf8");
    expect(JSON.parse(text)).toMatchObject([{ summary: "Two countries ordered." }]);
  });

  test("feedback: a CSV file becomes rows with vectors, each text once", async () => {
    writeFileSync(join(root, "workspace/feedback.csv"), "text\nGood\n good \nBad\n");
    const { id } = await save("feedback");
    await start(id);
    const run = await ended(id);
    expect([run["status"], run["error"]]).toEqual(["completed", null]);
    const rows = await rowsOf(run, "store");
    expect(rows.map((row) => row["text"])).toEqual(["Good", "Bad"]);
    expect(rows.every((row) => Array.isArray(row["embedding"]))).toBe(true);
  });

  test("failures: a run of any workflow that fails is told of, signed", async () => {
    const before = receiver.posts().length;
    const { id } = await save("failures");
    const broken = await api({
      ...{ method: "POST", path: "/api/pipeline/workflows" },
      body: {
        name: "broken",
        steps: [
          { id: "input", kind: "input" },
          {
            id: "stop",
            kind: "flow_break",
            break_on: "not_empty",
            as: "failed",
            message: "It broke.",
          },
        ],
      },
    });
    await start(broken["id"]);
    expect(await ended(broken["id"])).toMatchObject({ status: "failed" });
    expect(await ended(id)).toMatchObject({ status: "completed" });
    await vi.waitFor(() => expect(receiver.posts().length).toBe(before + 1), WAIT);
    const post = receiver.posts().at(-1);
    expect(post?.json.text).toContain("Workflow broken failed at stop");
    expect(post?.header("webhook-signature")).toMatch(/^v1,/);
  });
});

describe("a workflow that calls an address which starts it again", () => {
  /** Calls an address with each row. */
  const calling = (path: string, more: JsonObject = {}): JsonObject => ({
    name: `calls ${path}`.slice(0, 60),
    triggers: [{ kind: "webhook", auth: "url", ...more }],
    steps: [
      { id: "input", kind: "input" },
      { id: "call", kind: "http_request", url: `${served.url}${path}` },
    ],
  });
  const create = (body: JsonObject) =>
    api({ method: "POST", path: "/api/pipeline/workflows", body });
  const urlOf = ({ webhook }: JsonObject) => String((webhook as JsonObject)["path"]);
  const redirect = async ({ id }: JsonObject, path: string) => {
    const { steps } = calling(path);
    await api({ method: "PATCH", path: `/api/pipeline/workflows/${id}`, body: { steps } });
  };
  const runsOf = async ({ id }: JsonObject) =>
    (await api({ path: `/api/pipeline/runs?workflow=${id}` }))["data"] as JsonObject[];
  const discarded = async ({ id }: JsonObject) =>
    (await api({ path: `/api/pipeline/workflows/${id}` }))["discarded"];

  test("ends at once where it is its own webhook, and the discarded call is shown", async () => {
    const own = await create(calling("/unknown"));
    await redirect(own, urlOf(own));
    await callHttp(served.url, { method: "POST", path: urlOf(own), body: [{ a: 1 }] });
    const run = await ended(own["id"]);
    expect(run).toMatchObject({ status: "failed", failed_step: "call", error: { code: "loop" } });
    expect(await runsOf(own)).toHaveLength(1);
    expect(await discarded(own)).toMatchObject({ loop: 1 });
  });

  test("ends at once where another workflow stands between", async () => {
    const first = await create(calling("/unknown"));
    const second = await create(calling(urlOf(first)));
    await redirect(first, urlOf(second));
    await callHttp(served.url, { method: "POST", path: urlOf(first), body: [{ a: 1 }] });
    expect(await ended(first["id"])).toMatchObject({ status: "completed" });
    expect(await ended(second["id"])).toMatchObject({ status: "failed", error: { code: "loop" } });
    expect([await runsOf(first), await runsOf(second)].map((runs) => runs.length)).toEqual([1, 1]);
    expect(await discarded(first)).toMatchObject({ loop: 1 });
  });

  test("ends ten deep where its webhook has `allow_loop`", async () => {
    const own = await create(calling("/unknown", { allow_loop: true }));
    await redirect(own, urlOf(own));
    await callHttp(served.url, { method: "POST", path: urlOf(own), body: [{ a: 1 }] });
    await vi.waitFor(async () => {
      const runs = await runsOf(own);
      expect(runs.map(({ status }) => status)).toContain("failed");
      expect(runs).toHaveLength(10);
    }, WAIT);
    expect(await discarded(own)).toMatchObject({ loop: 1 });
  });
});

function fillShop(path: string): void {
  const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as {
    readonly Database: new (path: string) => { exec(sql: string): void; close(): void };
  };
  const shop = new Database(path);
  shop.exec("create table orders (country text, total real)");
  shop.exec("insert into orders values ('DE', 10), ('FR', 20), ('DE', 5)");
  shop.close();
}
