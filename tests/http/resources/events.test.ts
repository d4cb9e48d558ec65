import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type App, createApp } from "../../../src/app.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { buildDeps, type Deps } from "../../../src/deps.ts";
import { createOpenApiDocument } from "../../../src/http/openapi/openapi-document.ts";
import { createLog } from "../../../src/lib/log.ts";
import { findUndocumented } from "../../support/clients/documented-answer.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { createMigratedDatabase } from "../../support/servers/databases/test-database.ts";
import {
  startWebhookReceiver,
  type WebhookReceiver,
} from "../../support/servers/webhook-receiver.ts";

const WAIT = { timeout: 30_000, interval: 20 };
const ADMIN_KEY = "sk-administrator-0123456789abcdefghijklmnop";
const ADMIN_PASSWORD = "the administrator's own password";
const PATH = "/api/admin/events";
const HOUR_MS = 3_600_000;

let root: string;
let folder: string;
let receiver: WebhookReceiver;
let store: Awaited<ReturnType<typeof createMigratedDatabase>> | undefined;
let deps: Deps;
let app: App;
let admin: string;
let document: () => string;
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "events-"));
  folder = join(root, "inbox");
  await mkdir(folder);
  receiver = await startWebhookReceiver();
  store =
    databaseServerUrl === undefined ? undefined : await createMigratedDatabase(databaseServerUrl);
  const { settings } = loadConfig({
    DATA_DIR: join(root, "data"),
    ADMIN_PASSWORD,
    BOOTSTRAP_API_KEY: ADMIN_KEY,
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: "http://127.0.0.1:9",
    ALERT_WEBHOOK_URL: receiver.url,
    WATCH_DIRS: `${join(folder, "missing")}, ${folder}`,
    ...(store !== undefined && { DATABASE_URL: store.url }),
  });
  deps = await buildDeps(settings, createLog("silent"));
  app = createApp(deps);
  document = createOpenApiDocument(app.routes, "console", "1.2.3");
  const login = { username: "admin", password: ADMIN_PASSWORD };
  const response = await call("POST", "/api/auth/login", login);
  admin = response.body.token;
});

afterAll(async () => {
  await deps.close(1_000);
  await receiver.stop();
  await store?.drop();
  await rm(root, { recursive: true, force: true });
});

beforeEach(() => ask((db) => db.execute(sql`truncate outbox_events`)));

const ask: Deps["access"]["database"]["ask"] = (work) => deps.access.database.ask(work);

async function call(method: string, path: string, body?: unknown) {
  const request = new Request(`http://gateway${path}`, {
    method,
    headers: {
      ...(admin !== undefined && { authorization: `Bearer ${admin}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const response = await app.fetch(request, {
    host: "gateway",
    path: path.split("?")[0] ?? path,
    peer: () => "127.0.0.1",
    allowSilence: () => () => undefined,
  });
  const { status } = response;
  const answer = await response.json();
  expect(findUndocumented(document(), { method, path, status, body: answer })).toBeUndefined();
  // biome-ignore lint/suspicious/noExplicitAny: bodies are compared
  return { status, body: answer as any };
}

/** Stores an event as another process would have left it; its age makes the order. */
async function addEvent(row: Partial<typeof outboxEvents.$inferInsert>): Promise<string> {
  count += 1;
  const id = `evt_${String(count).padStart(22, "0")}`;
  const createdAt = new Date(Date.now() - 10 * HOUR_MS + count * 1_000);
  await ask((db) =>
    db.insert(outboxEvents).values({
      id,
      sink: "internal",
      kind: "file.uploaded",
      body: { folder: "/srv/in", path: "a.csv", source: "watched_folder" },
      createdAt,
      nextAttemptAt: new Date(Date.now() + HOUR_MS),
      ...row,
    }),
  );
  return id;
}

/** Stores events that were given up, with bodies of that many bytes; a hundred in one statement, for its time limit. */
async function addLarge(events: number, bytes: number): Promise<void> {
  const body = JSON.stringify({ text: "x".repeat(bytes) });
  for (let first = 1; first <= events; first += 100) {
    await ask((db) =>
      db.execute(sql`
        insert into outbox_events (id, sink, kind, body, created_at, dead_at)
        select 'evt_large' || number, 'internal', 'large', ${body}::jsonb,
          now() - make_interval(secs => number), now()
        from generate_series(${first}::int, ${first + 99}::int) as number`),
    );
  }
}

const dead = () => ({ attempts: 9, deadAt: new Date(), lastError: "workflows: TypeError" });
const idsOf = async (query: string) =>
  (await call("GET", `${PATH}?${query}`)).body.data.map(({ id }: { id: string }) => id);

describe("GET /api/admin/events", () => {
  it("shows what each event says, where it stands and why", async () => {
    const body = { text: "The key is used up.", type: "key_budget_exceeded", details: { n: 1 } };
    const nextAttemptAt = new Date(Date.now() + HOUR_MS);
    const lastError = "status 500";
    const kind = "key_budget_exceeded";
    const id = await addEvent({
      sink: "alert_webhook",
      kind,
      body,
      attempts: 3,
      lastError,
      nextAttemptAt,
    });
    const expected = {
      id,
      object: "event",
      sink: "alert_webhook",
      kind,
      state: "pending",
      attempts: 3,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      next_attempt_at: nextAttemptAt.toISOString(),
      delivered_at: null,
      dead_at: null,
      last_error: "status 500",
      body,
    };
    expect((await call("GET", PATH)).body).toEqual({
      object: "list",
      data: [expected],
      has_more: false,
    });
    expect((await call("GET", `${PATH}/${id}`)).body).toEqual(expected);
  });

  it("filters by state, kind and sink", async () => {
    const pending = await addEvent({});
    const delivered = await addEvent({ deliveredAt: new Date(), kind: "file.deleted" });
    const given = await addEvent({ ...dead(), sink: "alert_webhook", kind: "llm_backend_down" });
    expect(await idsOf("")).toEqual([given, delivered, pending]);
    expect(await idsOf("state=pending")).toEqual([pending]);
    expect(await idsOf("state=delivered")).toEqual([delivered]);
    expect(await idsOf("state=dead")).toEqual([given]);
    expect(await idsOf("kind=file.deleted")).toEqual([delivered]);
    expect(await idsOf("sink=internal")).toEqual([delivered, pending]);
    expect(await idsOf("sink=internal&state=dead")).toEqual([]);
    expect(await idsOf("sink=&state=&kind=&before=&limit=")).toHaveLength(3);
  });

  it("goes through them page by page, those of one moment too", async () => {
    const createdAt = new Date(Date.now() - HOUR_MS);
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1) ids.push(await addEvent({ createdAt }));
    const seen: string[] = [];
    let before = "";
    for (;;) {
      const { body } = await call("GET", `${PATH}?limit=3${before}`);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      if (!body.has_more) break;
      before = `&before=${seen.at(-1)}`;
    }
    expect(seen).toEqual([...ids].reverse());
  });

  it("ends a page early whose bodies are long, and loses none", async () => {
    await addLarge(100, 250_000);
    const page = async (before = "") => (await call("GET", `${PATH}?limit=1000${before}`)).body;
    const sizes: number[] = [];
    const seen = new Set<string>();
    let list = await page();
    for (;;) {
      sizes.push(list.data.length);
      for (const { id } of list.data) seen.add(id);
      if (!list.has_more) break;
      list = await page(`&before=${list.data.at(-1).id}`);
    }
    expect(Math.max(...sizes)).toBeLessThan(50);
    expect(seen.size).toBe(100);
  });

  it.each([
    ["state=lost", "state"],
    ["kind=%2A", "kind"],
    ["kind=File.uploaded", "kind"],
    ["sink=planet", "sink"],
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=x", "limit"],
    ["before=1", "before"],
    ["before=evt_unknown", "before"],
    ["page=2", "page"],
  ])("refuses ?%s", async (query, param) => {
    const { status, body } = await call("GET", `${PATH}?${query}`);
    expect([status, body.error.param]).toEqual([400, param]);
  });

  it("knows no event of another id", async () => {
    for (const id of ["evt_unknown", "x", "a%20b", "redrive"]) {
      const { status, body } = await call("GET", `${PATH}/${id}`);
      expect([id, status, body.error.code]).toEqual([id, 404, "not_found"]);
    }
  });
});

describe("POST /api/admin/events/{id}/redrive", () => {
  it("tries an event again that was given up, at once and with all its tries, and says so in the audit log", async () => {
    const heard: string[] = [];
    let isBroken = true;
    deps.events.subscribe({
      name: "of a test",
      kinds: ["file.uploaded"],
      async handle({ id }) {
        if (isBroken) throw new Error("still broken");
        heard.push(id);
      },
    });
    const id = await addEvent(dead());
    const { status, body } = await call("POST", `${PATH}/${id}/redrive`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, state: "pending", attempts: 0, dead_at: null });
    await vi.waitFor(async () => {
      const { body: event } = await call("GET", `${PATH}/${id}`);
      expect(event).toMatchObject({ state: "pending", last_error: "of a test: Error" });
      expect(event.attempts).toBeGreaterThan(0);
    }, WAIT);
    isBroken = false;
    await vi.waitFor(async () => {
      expect((await call("GET", `${PATH}/${id}`)).body.state).toBe("delivered");
    }, WAIT);
    expect(heard).toEqual([id]);
    const { body: audit } = await call("GET", `/api/admin/audit?target_id=${id}`);
    expect(audit.data).toEqual([
      expect.objectContaining({
        action: "event.redrive",
        target: { kind: "event", id },
        actor: expect.objectContaining({ name: "admin" }),
        details: { kind: "file.uploaded", sink: "internal" },
      }),
    ]);
  });

  it("posts an alert again under the id it had", async () => {
    const body = { text: "It is down.", type: "llm_backend_down", details: {} };
    const kind = "llm_backend_down";
    const id = await addEvent({ ...dead(), sink: "alert_webhook", kind, body });
    await call("POST", `${PATH}/${id}/redrive`);
    await vi.waitFor(() => {
      expect(receiver.posts().map((post) => [post.id, post.json])).toContainEqual([id, body]);
    }, WAIT);
  });

  it("tries one at once that waits for its next try", async () => {
    const nextAttemptAt = new Date(Date.now() + 3_600_000);
    const id = await addEvent({ attempts: 2, nextAttemptAt });
    const { status, body } = await call("POST", `${PATH}/${id}/redrive`);
    expect([status, body.state, body.attempts]).toEqual([200, "pending", 2]);
    await vi.waitFor(async () => {
      expect((await call("GET", `${PATH}/${id}`)).body.state).toBe("delivered");
    }, WAIT);
    expect((await call("GET", `/api/admin/audit?target_id=${id}`)).body.data).toHaveLength(1);
  });

  it("refuses one that was delivered, and changes nothing of it", async () => {
    const id = await addEvent({ deliveredAt: new Date(), attempts: 1 });
    const { status, body } = await call("POST", `${PATH}/${id}/redrive`);
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", "id"]);
    expect(body.error.message).toContain("delivered");
    expect((await call("GET", `${PATH}/${id}`)).body.attempts).toBe(1);
    expect((await call("GET", `/api/admin/audit?target_id=${id}`)).body.data).toEqual([]);
    const unknown = await call("POST", `${PATH}/evt_unknown/redrive`);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "not_found"]);
  });

  it("takes effect once however often it is asked for at once", async () => {
    const id = await addEvent({ ...dead(), kind: "file.deleted" });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => call("POST", `${PATH}/${id}/redrive`)),
    );
    expect(answers.filter(({ status }) => status === 200)).not.toEqual([]);
    expect((await call("GET", `/api/admin/audit?target_id=${id}`)).body.data).toHaveLength(1);
  });
});

describe("POST /api/admin/events/redrive", () => {
  const redrive = (body: unknown) => call("POST", `${PATH}/redrive`, body);

  it("tries all again of a kind, or of a sink, that were given up", async () => {
    const uploads = [await addEvent(dead()), await addEvent(dead())];
    const deletion = await addEvent({ ...dead(), kind: "file.deleted" });
    const alert = await addEvent({ ...dead(), sink: "alert_webhook", kind: "llm_backend_down" });
    const waiting = await addEvent({ kind: "file.deleted", attempts: 4 });
    const none = await redrive({ kind: "file.deleted", sink: "alert_webhook" });
    expect(none.body).toEqual({ object: "event.redrive", redriven: 0, has_more: false });
    expect((await redrive({ kind: "file.uploaded" })).body.redriven).toBe(2);
    expect(new Set(await idsOf("state=dead"))).toEqual(new Set([deletion, alert]));
    expect((await redrive({ sink: "internal" })).body.redriven).toBe(1);
    expect(await idsOf("state=dead")).toEqual([alert]);
    await vi.waitFor(async () => {
      expect(await idsOf("state=delivered")).toEqual([deletion, ...uploads.reverse()]);
    }, WAIT);
    expect((await call("GET", `${PATH}/${waiting}`)).body.attempts).toBe(4);
    const { body: audit } = await call("GET", "/api/admin/audit?action=event.redrive&limit=2");
    expect(audit.data.map(({ details }: { details: object }) => details)).toEqual([
      { sink: "internal", events: 1 },
      { kind: "file.uploaded", events: 2 },
    ]);
  });

  it("tries those at once that wait for their next try, and leaves what was given up", async () => {
    const later = { attempts: 2, nextAttemptAt: new Date(Date.now() + 3_600_000) };
    const waiting = [await addEvent(later), await addEvent(later)];
    const other = await addEvent({ ...later, kind: "file.deleted" });
    const given = await addEvent(dead());
    const { body } = await redrive({ state: "pending", kind: "file.uploaded" });
    expect(body).toEqual({ object: "event.redrive", redriven: 2, has_more: false });
    await vi.waitFor(async () => {
      expect(await idsOf("state=delivered")).toEqual([...waiting].reverse());
    }, WAIT);
    expect((await call("GET", `${PATH}/${other}`)).body).toMatchObject({
      state: "pending",
      attempts: 2,
    });
    expect(await idsOf("state=dead")).toEqual([given]);
    expect((await redrive({ state: "pending", kind: "file.uploaded" })).body.redriven).toBe(0);
    const { body: audit } = await call("GET", "/api/admin/audit?action=event.redrive&limit=1");
    expect(audit.data[0].details).toEqual({ state: "pending", kind: "file.uploaded", events: 2 });
  });

  it("tries thousands again with long bodies, in bounded portions", async () => {
    await addLarge(2_500, 100_000);
    const { body } = await redrive({ kind: "large" });
    expect(body).toEqual({ object: "event.redrive", redriven: 2_500, has_more: false });
    expect(await idsOf("state=dead")).toEqual([]);
    const { body: audit } = await call("GET", "/api/admin/audit?action=event.redrive&limit=3");
    const counts = audit.data.map(({ details }: { details: { events: number } }) => details.events);
    expect(counts).toEqual([500, 1_000, 1_000]);
  });

  it.each([
    [{}, null],
    [{ kind: "" }, "kind"],
    [{ sink: "planet" }, "sink"],
    [{ kind: "file.uploaded", state: "delivered" }, "state"],
    [{ state: "dead" }, null],
    [{ kind: "a", id: "b" }, "id"],
    [[], null],
  ])("refuses %j", async (body, param) => {
    const id = await addEvent(dead());
    const answer = await redrive(body);
    expect([answer.status, answer.body.error.param]).toEqual([400, param]);
    expect(await idsOf("state=dead")).toEqual([id]);
  });
});

describe("GET /api/admin/watched-folders", () => {
  it("tells how each folder fares, one that is missing too", async () => {
    await vi.waitFor(async () => {
      const { body } = await call("GET", "/api/admin/watched-folders");
      expect(body).toEqual({
        object: "list",
        data: [
          {
            object: "watched_folder",
            folder: join(folder, "missing"),
            state: "away",
            since: expect.stringMatching(/Z$/),
            cause: "ENOENT",
            files: null,
            checked_at: expect.stringMatching(/Z$/),
          },
          expect.objectContaining({
            folder,
            state: "watched",
            cause: null,
            files: expect.any(Number),
          }),
        ],
      });
    }, WAIT);
  });
});
