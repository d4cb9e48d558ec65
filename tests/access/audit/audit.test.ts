import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Actor } from "../../../src/access/actor.ts";
import { type AuditQuery, listAudit } from "../../../src/access/audit/list-audit.ts";
import { recordAudit } from "../../../src/access/audit/record-audit.ts";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { auditLog } from "../../../src/db/tables/audit-log.ts";
import { users } from "../../../src/db/tables/users.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
  await database.db.insert(users).values({ id: "usr_ada", username: "ada", role: "admin" });
});
afterAll(() => database.close());
afterEach(() => database.db.execute(sql`truncate audit_log restart identity`));

const byKey: Actor = {
  caller: {
    kind: "key",
    keyId: "key_1",
    ownerId: "usr_ada",
    role: "admin",
    assistantId: null,
    passthrough: false,
    maxLevel: "read_only",
    toolScope: { tools: [], sql_connections: [] },
    limits: null,
    isRestricted: false,
  },
  address: "192.0.2.7",
  requestId: "req_1",
};

type Entry = Partial<typeof auditLog.$inferInsert>;

/** Entries of our own making, a second apart, with the ids 1, 2, 3 … */
async function write(...entries: readonly Entry[]): Promise<void> {
  const rows = entries.map((entry, index) => ({
    at: new Date(Date.UTC(2026, 10, 21) + index * 1_000),
    via: "service" as const,
    action: "user.create",
    targetKind: "user",
    ...entry,
  }));
  await database.db.insert(auditLog).values(rows);
}

const list = async (query: Partial<AuditQuery> = {}) => {
  const { entries, hasMore } = await listAudit({ database }, { limit: 100, ...query });
  return { ids: entries.map(({ id }) => id), hasMore };
};
const ids = async (query: Partial<AuditQuery> = {}) => (await list(query)).ids;

describe("the audit log", () => {
  it("keeps who did what to what, from where and by which credential", async () => {
    const change = { action: "license.upload", targetKind: "license", targetId: "lic_1" } as const;
    await withTransaction(database.db, (transaction) =>
      recordAudit(transaction, byKey, { ...change, details: { customer: "Ämter" } }),
    );
    const { entries } = await listAudit({ database }, { limit: 1 });
    expect(entries).toEqual([
      {
        id: 1,
        at: expect.any(Date),
        actorId: "usr_ada",
        actorName: "ada",
        via: "key",
        credentialId: "key_1",
        address: "192.0.2.7",
        requestId: "req_1",
        ...change,
        details: { customer: "Ämter" },
      },
    ]);
  });

  it("has no entry of a change that failed after it was recorded", async () => {
    const failing = withTransaction(database.db, async (transaction) => {
      await recordAudit(transaction, byKey, {
        action: "user.create",
        targetKind: "user",
        targetId: "usr_1",
      });
      throw new Error("it fails at the very end");
    });
    await expect(failing).rejects.toThrow("at the very end");
    expect(await ids()).toEqual([]);
  });

  it("is only added to: the database refuses to change or to delete an entry", async () => {
    await write({}, {});
    for (const statement of [
      sql`update audit_log set actor_id = 'usr_other' where id = 1`,
      sql`delete from audit_log where id = 1`,
      sql`delete from audit_log`,
      sql`insert into audit_log (id, via, action, target_kind) values (1, 'key', 'a.b', 'user')
        on conflict (id) do update set via = 'service'`,
    ]) {
      const refusal = await database.db.execute(statement).catch((thrown: Error) => thrown.cause);
      expect(String(refusal)).toMatch(/the audit log is only added to/);
    }
    expect(await ids()).toEqual([2, 1]);
  });
});

describe("the list of the audit log", () => {
  it("has the newest first, and those of one moment in the order of their making", async () => {
    const at = new Date(Date.UTC(2026, 10, 22));
    await write({ at }, {}, { at }, {});
    expect(await ids()).toEqual([3, 1, 4, 2]);
  });

  it("is read in pages without losing or repeating an entry, while others are added", async () => {
    const at = new Date(Date.UTC(2026, 10, 21));
    // Many of the same moment, across the border of a page.
    await write(...Array.from({ length: 7 }, () => ({ at })));
    const first = await list({ limit: 3 });
    expect(first).toEqual({ ids: [7, 6, 5], hasMore: true });
    await write({ at }, { at: new Date(at.getTime() + 5) });
    expect(await list({ limit: 3, before: 5 })).toEqual({ ids: [4, 3, 2], hasMore: true });
    expect(await list({ limit: 3, before: 2 })).toEqual({ ids: [1], hasMore: false });
    expect(await list({ limit: 3, before: 1 })).toEqual({ ids: [], hasMore: false });
    expect(await list({ before: 999 })).toEqual({ ids: [], hasMore: false });
  });

  it("is filtered by a whole action, or by the beginning of one up to a dot", async () => {
    await write(
      { action: "user.create" },
      { action: "user.create_many" },
      { action: "users.create" },
      { action: "api_key.update" },
      { action: "apiXkey.update" },
    );
    expect(await ids({ action: "user.create" })).toEqual([1]);
    expect(await ids({ action: "user." })).toEqual([2, 1]);
    expect(await ids({ action: "api_key." })).toEqual([4]);
    expect(await ids({ action: "user" })).toEqual([]);
  });

  it("is filtered by actor, target and time, by all that is given at once", async () => {
    const time = (seconds: number) => new Date(Date.UTC(2026, 10, 21) + seconds * 1_000);
    await write(
      { actorId: "usr_1", targetId: "key_1", targetKind: "api_key" },
      { actorId: "usr_1", targetId: "usr_2" },
      { actorId: "usr_2", targetId: "key_1", targetKind: "api_key" },
      { actorId: null, targetId: null, targetKind: "settings" },
    );
    expect(await ids({ actorId: "usr_1" })).toEqual([2, 1]);
    expect(await ids({ targetId: "key_1" })).toEqual([3, 1]);
    expect(await ids({ targetKind: "settings" })).toEqual([4]);
    expect(await ids({ actorId: "usr_1", targetKind: "api_key" })).toEqual([1]);
    expect(await ids({ from: time(1), to: time(3) })).toEqual([3, 2]);
    expect(await ids({ from: time(3) })).toEqual([4]);
    expect(await ids({ to: time(1) })).toEqual([1]);
    expect(await ids({ targetId: "key_1", before: 3 })).toEqual([1]);
  });
});

describe("the audit log of many entries", () => {
  const QUERIES: Readonly<Record<string, Partial<AuditQuery>>> = {
    nothing: {},
    "a place": { before: 15_000 },
    "an action": { action: "license.upload" },
    "the beginning of an action": { action: "license." },
    "an actor": { actorId: "usr_7" },
    "an actor who is not there": { actorId: "usr_none" },
    "a target": { targetId: "usr_7" },
    "a kind of target": { targetKind: "license" },
    "a time": { from: new Date("2026-01-01T05:00:00Z"), to: new Date("2026-01-01T05:30:00Z") },
  };

  it("is not read whole, whatever it is filtered by", async () => {
    await database.db.execute(sql`
      insert into audit_log (at, actor_id, via, action, target_kind, target_id)
      select timestamptz '2026-01-01Z' + i * interval '1 s', 'usr_' || i % 200, 'session',
        case when i % 100 = 0 then 'license.upload' else 'user.update' end,
        case when i % 100 = 0 then 'license' else 'user' end, 'usr_' || i % 300
      from generate_series(1, 20000) as i`);
    await database.db.execute(sql`analyze audit_log`);
    for (const [name, query] of Object.entries(QUERIES)) {
      expect(await countReadRows(query), name).toBeLessThan(400);
    }
  });
});

/** How many rows of the log the database looks at to answer a query. */
function countReadRows(query: Partial<AuditQuery>): Promise<number> {
  return withTransaction(database.db, async (transaction) => {
    const countedSoFar = async () => {
      const [row] = await transaction.execute<{ rows: number }>(
        sql`select (seq_tup_read + idx_tup_fetch)::int as rows
          from pg_stat_xact_user_tables where relname = 'audit_log'`,
      );
      return row?.rows ?? Number.NaN;
    };
    const before = await countedSoFar();
    await listAudit({ database: { ask: (work) => work(transaction) } }, { limit: 50, ...query });
    return (await countedSoFar()) - before;
  });
}
