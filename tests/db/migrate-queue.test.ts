import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { knownMigrations, migrate } from "../../src/db/migrate.ts";
import { outboxEvents } from "../../src/db/tables/outbox.ts";
import { watchedFiles, watchedFolders } from "../../src/db/tables/watched-files.ts";
import { createLog } from "../../src/lib/log.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { workTopic } from "../../src/queue/work-topic.ts";
import { openEmptyDatabase } from "../support/servers/databases/test-database.ts";

const BEFORE_THE_QUEUE = 5;
const WAIT = { timeout: 30_000, interval: 20 };

let database: Database;
beforeEach(async () => {
  database = await openEmptyDatabase();
});
afterEach(() => database.close());

it("events that an earlier release has stored are kept by an upgrade, and those that wait are delivered", async () => {
  const { db } = database;
  await migrate(database, undefined, knownMigrations()[BEFORE_THE_QUEUE]);
  await db.execute(sql`
    insert into outbox_events
      (id, sink, kind, body, attempts, next_attempt_at, lease_until, delivered_at, dead_at, last_error)
    values
      ('evt_new', 'internal', 'file.uploaded', '{"path": "a.csv"}', 0, now(), null, null, null, null),
      ('evt_retried', 'internal', 'file.deleted', '{}', 3, now() - interval '1 minute', null, null, null, 'x: Error'),
      ('evt_leased', 'internal', 'file.deleted', '{}', 1, now(), now() - interval '1 second', null, null, null),
      ('evt_later', 'internal', 'file.deleted', '{}', 5, now() + interval '1 hour', null, null, null, 'x: Error'),
      ('evt_alert', 'alert_webhook', 'llm_backend_down', '{}', 0, now(), null, null, null, null),
      ('evt_delivered', 'internal', 'file.deleted', '{}', 1, now(), null, now(), null, null),
      ('evt_dead', 'internal', 'file.deleted', '{}', 9, now(), null, null, now(), 'x: Error')`);
  await migrate(database);
  const delivered: unknown[] = [];
  const parts = { db, clock: systemClock, log: createLog("fatal") };
  const worker = workTopic(parts, {
    name: "internal",
    pausesMs: Array(8).fill(10),
    work: async ({ id, attempts, body }) => {
      delivered.push([id, attempts, body]);
      return { kind: "done" };
    },
  });
  await vi.waitFor(() => expect(delivered).toHaveLength(3), WAIT);
  await worker.close();
  expect(delivered.sort()).toEqual([
    ["evt_leased", 2, {}],
    ["evt_new", 1, { path: "a.csv" }],
    ["evt_retried", 4, {}],
  ]);
  const rows = await db.select().from(outboxEvents).orderBy(outboxEvents.id);
  expect(rows.map(({ id, attempts }) => [id, attempts])).toEqual([
    ["evt_alert", 0],
    ["evt_dead", 9],
    ["evt_delivered", 1],
    ["evt_later", 5],
    ["evt_leased", 2],
    ["evt_new", 1],
    ["evt_retried", 4],
  ]);
  expect(rows.every(({ orderKey, orderNumber }) => orderKey === null && orderNumber === null)).toBe(
    true,
  );
});

it("watched folders keep their files and are known by their inode after an upgrade", async () => {
  const { db } = database;
  await migrate(database, undefined, knownMigrations()[BEFORE_THE_QUEUE]);
  await db.execute(sql`
    insert into watched_files (folder, path, size, modified_at) values
      ('/srv/inbox', '/', 4711, '2027-03-01T12:00:00Z'), ('/srv/inbox', 'a/b.csv', 12, '2027-02-01T00:00:00Z'),
      ('/srv/empty', '/', 42, '2027-03-02T12:00:00Z'), ('/srv/cut-off', 'c.csv', 1, '2027-02-01T00:00:00Z')`);
  await migrate(database);
  const folders = await db.select().from(watchedFolders).orderBy(watchedFolders.folder);
  // A folder that was empty before counts as one that had files: its mount may be away.
  const known = { hadFiles: true };
  expect(folders).toEqual([
    { ...known, folder: "/srv/cut-off", inode: null, namedAt: expect.any(Date) },
    { ...known, folder: "/srv/empty", inode: 42, namedAt: new Date("2027-03-02T12:00:00Z") },
    { ...known, folder: "/srv/inbox", inode: 4711, namedAt: new Date("2027-03-01T12:00:00Z") },
  ]);
  const files = await db.select().from(watchedFiles).orderBy(watchedFiles.folder);
  expect(files.map(({ folder, path, size }) => [folder, path, size])).toEqual([
    ["/srv/cut-off", "c.csv", 1],
    ["/srv/inbox", "a/b.csv", 12],
  ]);
});
