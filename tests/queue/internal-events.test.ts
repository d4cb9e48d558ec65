import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { ServiceError } from "../../src/core/service-error.ts";
import { withTransaction } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { outboxEvents } from "../../src/db/tables/outbox.ts";
import { createLog } from "../../src/lib/log.ts";
import { outboxFigures } from "../../src/queue/figures.ts";
import {
  createInternalEvents,
  fireEvents,
  type InternalEvents,
} from "../../src/queue/internal-events.ts";
import type { DeliveredEvent, InternalEvent } from "../../src/queue/subscriptions.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";

const WAIT = { timeout: 30_000, interval: 10 };

let database: Database;
let lines: string[] = [];
const log = createLog("info", { write: (line: string) => void lines.push(line) });
const open: InternalEvents[] = [];
let aheadMs = 0;
const clock = { now: () => Date.now() + aheadMs };

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(async () => {
  await database.db.execute(sql`truncate outbox_events`);
  aheadMs = 0;
  lines = [];
});
afterEach(async () => {
  for (const events of open.splice(0)) await events.close();
});
afterAll(() => database.close());

/** One replica's. */
function create(scale = 0.0002): InternalEvents {
  const events = createInternalEvents({ db: database.db, clock, log, scale, tryTimeoutMs: 15_000 });
  open.push(events);
  return events;
}

type FileEvent = Extract<InternalEvent, { readonly kind: "file.uploaded" | "file.deleted" }>;
type DeliveredFile = DeliveredEvent<FileEvent["kind"]>;

function uploaded(path: string): FileEvent {
  return {
    kind: "file.uploaded",
    body: {
      folder: "/data/inbox",
      path,
      name: path.split("/").at(-1) ?? "",
      size: 12,
      modified_at: "2027-03-01T12:00:00.000Z",
      change: "created",
      source: "watched_folder",
    },
  };
}

function deleted(path: string): InternalEvent {
  const { body } = uploaded(path);
  return { kind: "file.deleted", body };
}

function fire(...events: InternalEvent[]): Promise<void> {
  return withTransaction(database.db, (transaction) =>
    fireEvents(transaction, events, clock.now()),
  );
}

const storedEvents = () => database.db.select().from(outboxEvents);

async function untilNonePending(): Promise<void> {
  await vi.waitFor(async () => {
    expect((await outboxFigures(database.db, clock.now())).pending).toBe(0);
  }, WAIT);
}

test("an event whose subscriber does not reach the store has lost no try by that", async () => {
  const heard: string[] = [];
  let isAway = true;
  const events = create();
  events.subscribe({
    name: "of a test",
    kinds: ["file.uploaded"],
    async handle({ id }) {
      heard.push(id);
      if (isAway) throw new ServiceError("storage_unavailable", "It is not reachable now.");
    },
  });
  await fire(uploaded("a.csv"));
  events.start();
  await vi.waitFor(() => expect(heard.length).toBeGreaterThan(1), WAIT);
  isAway = false;
  await untilNonePending();
  expect(await storedEvents()).toMatchObject([{ attempts: 1, deadAt: null, lastError: null }]);
});

describe("an internal event", () => {
  test("of an upload is filtered by its name", async () => {
    const events = create();
    const heard: DeliveredEvent[] = [];
    const kinds = ["file.uploaded"] as const;
    const handle = async (event: DeliveredEvent) => void heard.push(event);
    events.subscribe({ name: "reports", kinds, path: "*.csv", handle });
    events.start();
    const facts = { file_id: "file-1", size: 1, sha256: "0".repeat(64), owner_id: null };
    const body = (name: string) =>
      ({ ...facts, path: name, name, source: "upload", change: "created" }) as const;
    await fire(
      { kind: "file.uploaded", body: body("a.csv") },
      { kind: "file.uploaded", body: body("a.txt") },
    );
    events.wake();
    await untilNonePending();
    expect(heard.map((event) => event.body)).toEqual([body("a.csv")]);
  });

  test("reaches every subscriber of its kind and path once, with its id and all it says", async () => {
    const events = create();
    const heard: Record<string, DeliveredFile[]> = { all: [], uploads: [], reports: [], glob: [] };
    const hear = (name: string) => async (event: DeliveredFile) => void heard[name]?.push(event);
    const kinds = ["file.uploaded", "file.deleted"] as const;
    events.subscribe({ name: "all", kinds, handle: hear("all") });
    events.subscribe({ name: "uploads", kinds: ["file.uploaded"], handle: hear("uploads") });
    events.subscribe({ name: "reports", kinds, path: "reports/", handle: hear("reports") });
    events.subscribe({ name: "glob", kinds, path: "**/[!x]*.csv", handle: hear("glob") });
    events.start();
    await fire(uploaded("reports/2027/a.csv"), deleted("reports/x.csv"), uploaded("b.csv"));
    events.wake();
    await untilNonePending();
    const pathsOf = (name: string) => heard[name]?.map(({ body }) => body.path).sort();
    expect(pathsOf("all")).toEqual(["b.csv", "reports/2027/a.csv", "reports/x.csv"]);
    expect(pathsOf("uploads")).toEqual(["b.csv", "reports/2027/a.csv"]);
    expect(pathsOf("reports")).toEqual(["reports/2027/a.csv", "reports/x.csv"]);
    expect(pathsOf("glob")).toEqual(["b.csv", "reports/2027/a.csv"]);
    const stored = await storedEvents();
    const event = heard["uploads"]?.find(({ body }) => body.path === "b.csv");
    expect(event).toEqual({ id: expect.stringMatching(/^evt_\w{22}$/), ...uploaded("b.csv") });
    expect(stored.map(({ id }) => id)).toContain(event?.id);
    expect(stored.every(({ attempts, deliveredAt }) => attempts === 1 && deliveredAt)).toBe(true);
  });

  test("does not exist when its cause is rolled back", async () => {
    const failed = withTransaction(database.db, async (transaction) => {
      await fireEvents(transaction, [uploaded("a.csv")], clock.now());
      throw new Error("the cause failed");
    });
    await expect(failed).rejects.toThrow("the cause failed");
    expect(await storedEvents()).toEqual([]);
  });

  test("that nobody wants is delivered at once", async () => {
    const events = create();
    events.subscribe({
      name: "deletions",
      kinds: ["file.deleted"],
      handle: () => Promise.reject(new Error("never called")),
    });
    await fire(uploaded("a.csv"));
    await database.db.update(outboxEvents).set({ kind: "of.a.later.release" });
    await fire(uploaded("a.csv"));
    events.start();
    await untilNonePending();
    expect((await storedEvents()).map(({ attempts, deadAt }) => [attempts, deadAt])).toEqual([
      [1, null],
      [1, null],
    ]);
  });

  test("waits for the start, so that no subscriber comes too late", async () => {
    const events = create();
    await fire(uploaded("a.csv"));
    events.wake();
    const heard: string[] = [];
    const kinds = ["file.uploaded"] as const;
    events.subscribe({ name: "late", kinds, handle: async ({ id }) => void heard.push(id) });
    expect((await storedEvents())[0]?.attempts).toBe(0);
    events.start();
    await untilNonePending();
    expect(heard).toHaveLength(1);
  });

  test("is tried again with the same id until its subscriber takes it", async () => {
    const events = create();
    const ids: string[] = [];
    const steady: string[] = [];
    const kinds = ["file.uploaded"] as const;
    events.subscribe({
      name: "shaky",
      kinds,
      async handle({ id }) {
        ids.push(id);
        if (ids.length < 4) throw new Error("canary: what the file holds");
      },
    });
    events.subscribe({ name: "steady", kinds, handle: async ({ id }) => void steady.push(id) });
    events.start();
    await fire(uploaded("a.csv"));
    await vi.waitFor(async () => {
      expect((await storedEvents())[0]?.lastError).toBe("shaky: Error");
    }, WAIT);
    await untilNonePending();
    const [stored] = await storedEvents();
    expect(stored).toMatchObject({ attempts: 4, deadAt: null, lastError: null });
    expect(ids).toEqual(Array(4).fill(stored?.id));
    // At least once: who took it the first time is told again.
    expect(new Set(steady)).toEqual(new Set([stored?.id]));
  });

  test("is dead after nine tries, counted and kept", async () => {
    const events = create();
    let tries = 0;
    events.subscribe({
      name: "broken",
      kinds: ["file.uploaded"],
      handle() {
        tries += 1;
        throw new TypeError("never");
      },
    });
    events.start();
    await fire(uploaded("a.csv"));
    await untilNonePending();
    expect(tries).toBe(9);
    expect(await outboxFigures(database.db, clock.now())).toMatchObject({ pending: 0, dead: 1 });
    expect((await storedEvents())[0]).toMatchObject({
      attempts: 9,
      lastError: "broken: TypeError",
    });
    expect(lines.filter((line) => line.includes('"level":"error"'))).toHaveLength(1);
  });

  test("waits 1 s, 5 s, 30 s, 2 m, 10 m, 30 m, 1 h and 2 h between its tries, a fifth more or less", async () => {
    const events = create(1);
    const kinds = ["file.uploaded"] as const;
    events.subscribe({ name: "broken", kinds, handle: () => Promise.reject(new Error("never")) });
    events.start();
    await fire(uploaded("a.csv"));
    for (const [index, seconds] of [1, 5, 30, 120, 600, 1_800, 3_600, 7_200].entries()) {
      const stored = await vi.waitFor(async () => {
        const [event] = await storedEvents();
        expect(event).toMatchObject({ attempts: index + 1, leaseUntil: null });
        return event;
      }, WAIT);
      const waitsMs = (stored?.nextAttemptAt.getTime() ?? 0) - clock.now();
      // Some of it has passed since.
      expect(waitsMs).toBeGreaterThan(seconds * 800 - 15_000);
      expect(waitsMs).toBeLessThanOrEqual(seconds * 1_200);
      aheadMs += seconds * 1_200;
      events.wake();
    }
    await untilNonePending();
    expect((await storedEvents())[0]?.deadAt).not.toBeNull();
  });

  test("is told by one of two replicas", async () => {
    const heard: string[] = [];
    const replicas = [create(), create()];
    for (const events of replicas) {
      const kinds = ["file.uploaded"] as const;
      events.subscribe({
        name: "any",
        kinds,
        handle: async ({ body }) => void heard.push(body.path),
      });
    }
    const paths = Array.from({ length: 300 }, (_, index) => `${index}.csv`);
    await fire(...paths.map(uploaded));
    for (const events of replicas) events.start();
    await untilNonePending();
    expect(heard.sort()).toEqual([...paths].sort());
  });

  test("is given back when the server stops while a subscriber has it", async () => {
    const events = create();
    const given = new Promise<AbortSignal>((resolve) => {
      events.subscribe({
        name: "slow",
        kinds: ["file.uploaded"],
        handle(_, signal) {
          resolve(signal);
          return new Promise(() => undefined);
        },
      });
    });
    events.start();
    await fire(uploaded("a.csv"));
    events.wake();
    const signal = await given;
    await events.close();
    expect(signal.aborted).toBe(true);
    expect((await storedEvents())[0]).toMatchObject({
      attempts: 0,
      leaseUntil: null,
      deliveredAt: null,
      lastError: null,
    });
  });
});
