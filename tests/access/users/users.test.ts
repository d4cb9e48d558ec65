import { and, eq, inArray, like, ne, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { SessionActor } from "../../../src/access/actor.ts";
import { createUser } from "../../../src/access/users/create-user.ts";
import { deleteUser } from "../../../src/access/users/delete-user.ts";
import { readTokenTraces } from "../../../src/access/users/token-traces.ts";
import { updateUser } from "../../../src/access/users/update-user.ts";
import { findUser, listUsers, selectUsers } from "../../../src/access/users/user.ts";
import { type Db, withTransaction } from "../../../src/db/context.ts";
import { nextChange } from "../../../src/db/next-change.ts";
import { apiKeys, deletedApiKeys } from "../../../src/db/tables/api-keys.ts";
import { auditLog } from "../../../src/db/tables/audit-log.ts";
import { biKeys } from "../../../src/db/tables/bi-keys.ts";
import { usageRecords } from "../../../src/db/tables/usage.ts";
import { sessions, users } from "../../../src/db/tables/users.ts";
import { workflows } from "../../../src/db/tables/workflows.ts";
import { openedKind } from "../../support/servers/databases/test-database.ts";
import {
  ADMIN_PASSWORD,
  addUser,
  openUserAccess,
  type TestUserAccess,
} from "../../support/stages/access/user-access.ts";

const PASSWORD = "a password, and no better one";
/** A change made by another replica holds after one poll, which is twice a second; the rest is for a busy machine. */
const POLLED_MS = 10_000;
/** Long enough for a change to come as far as the rows that it has to wait for. */
const UNDER_WAY_MS = 300;
const FAR = new Date(Date.UTC(2100, 0));
let here: TestUserAccess;
let places = 0;
let username: string;

/** Resolves once another transaction waits for a lock. */
const untilWaiting = (db: Db) =>
  expect
    .poll(
      async () => {
        const [row] = await db.execute<{ waiting: number }>(
          sql`select count(*)::int as waiting from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return row?.waiting ?? 0;
      },
      { timeout: POLLED_MS },
    )
    .toBeGreaterThan(0);

beforeAll(async () => {
  here = await openUserAccess();
});

beforeEach(() => {
  here.world.maxUsers = 1_000;
  username = `user-${++places}`;
});

afterAll(() => here.close());

/** As an entry of the audit log says who set the password, in the order of the entries. */
const passwordSet = (targetId: string, via: "session" | "service_token", at: string) =>
  here.database.db.insert(auditLog).values({
    ...{ at: new Date(at), via, action: "user.update", targetKind: "user", targetId },
    details: { changed: ["password"] },
  });

describe("who set a password last", () => {
  it("is told by the order of the entries, also when the clock was set back between them", async () => {
    const { db } = here.database;
    await passwordSet("usr_traced", "session", "2026-11-29T10:00:05Z");
    await passwordSet("usr_traced", "service_token", "2026-11-29T10:00:00Z");
    expect(await readTokenTraces(db, "usr_traced")).toMatchObject({ isPasswordOfToken: true });
    await passwordSet("usr_traced", "session", "2026-11-29T09:00:00Z");
    expect(await readTokenTraces(db, "usr_traced")).toMatchObject({ isPasswordOfToken: false });
  });
});

const add = (role: "admin" | "user" = "user", name = username) =>
  addUser(here, name, PASSWORD, role);
const codes = (answers: readonly PromiseSettledResult<unknown>[]) =>
  answers.map((answer) => (answer.status === "fulfilled" ? "done" : answer.reason.code)).sort();
const activeAdmins = async () =>
  (await here.database.db.select().from(users)).filter(
    ({ role, state }) => role === "admin" && state === "active",
  );
const isUsable = async (key: string, { keys } = here) =>
  (await keys.find(key, here.world.now))?.isActive === true;
const isRefusedElsewhere = (key: string) =>
  expect
    .poll(async () => (await here.otherKeys.find(key, here.world.now))?.isActive === true, {
      timeout: POLLED_MS,
    })
    .toBe(false);
const auditOf = async (id: string) =>
  (await here.database.db.select().from(auditLog).where(eq(auditLog.targetId, id)))
    .filter(({ action }) => !action.startsWith("user.login"))
    .map(({ action, actorId, details }) => ({ action, actorId, details }));

describe("a user", () => {
  it("is made with the password that is given, which has to be changed", async () => {
    const { user, password } = await createUser(here.access, here.admin, {
      username: username.toUpperCase(),
      password: PASSWORD,
    });
    expect(password).toBeUndefined();
    expect(user).toEqual({
      id: expect.stringMatching(/^usr_[0-9A-Za-z]{22}$/),
      username,
      role: "user",
      state: "active",
      mustChangePassword: true,
      createdAt: expect.any(Date),
      lastLoginAt: null,
      monthlyTokenLimit: null,
      rpmLimit: null,
      keyCount: 0,
    });
    expect(await here.logIn(username, PASSWORD)).toMatchObject({ mustChangePassword: true });
  });

  it("is made with a password made up, which is nowhere but in the answer", async () => {
    const { user, password } = await createUser(here.access, here.admin, { username });
    expect(password).toMatch(/^[0-9A-Za-z]{20,}$/);
    expect(await here.logIn(username, password ?? "")).toMatchObject({ mustChangePassword: true });
    const rows = [
      await here.database.db.select().from(users).where(eq(users.id, user.id)),
      await here.database.db.select().from(auditLog),
    ];
    expect(JSON.stringify(rows)).not.toContain(password);
  });

  it("has a name that nobody else has, in whatever case, also of two made at once", async () => {
    const make = (name: string) =>
      createUser(here.access, here.admin, { username: name, password: PASSWORD });
    const answers = await Promise.allSettled([make(username), make(username.toUpperCase())]);
    expect(codes(answers)).toEqual(["done", "invalid_value"]);
    await expect(make(username)).rejects.toMatchObject({ param: "username" });
  });

  it("is found by a part of the name, by no wildcard, and in pages", async () => {
    for (const name of ["find-a%b", "find-a_c", "find-axc"]) {
      // Made past the edge, which takes no percent sign.
      await here.database.db
        .insert(users)
        .values({ id: `usr_${name}`, username: name, role: "user" });
    }
    const find = async (search: string | undefined, limit = 50, offset = 0) => {
      const found = await listUsers(here.access, { search, limit, offset });
      return [found.users.map((user) => user.username), found.total];
    };
    expect(await find("FIND-A")).toEqual([["find-a%b", "find-a_c", "find-axc"], 3]);
    expect(await find("a_c")).toEqual([["find-a_c"], 1]);
    expect(await find("a%")).toEqual([["find-a%b"], 1]);
    expect(await find("\\")).toEqual([[], 0]);
    expect(await find("' or 1=1 --")).toEqual([[], 0]);
    expect(await find("find-", 1, 1)).toEqual([["find-a_c"], 3]);
    expect((await find(undefined))[1]).toBeGreaterThan(3);
  });

  it("counts its own keys", async () => {
    const id = await add();
    await here.createKey(id);
    await here.createKey(id);
    expect(await findUser(here.access, id)).toMatchObject({ keyCount: 2 });
    const listed = await listUsers(here.access, { search: username, limit: 5, offset: 0 });
    expect(listed.users).toEqual([expect.objectContaining({ id, keyCount: 2 })]);
    expect(await findUser(here.access, here.admin.caller.ownerId)).toMatchObject({ keyCount: 1 });
  });

  it("is listed among a thousand as soon, however many keys one of them has", async (context) => {
    // What matters is how PostgreSQL plans it for many keys of one user.
    if (here.database.kind === "embedded") context.skip();
    const { db } = here.database;
    const id = await add();
    await db.execute(sql`insert into api_keys (id, name, key_hash, last_four, owner_id, change_seq)
      select 'key_many_' || n, 'a key', 'many ' || n, 'many', ${id}, 0 from generate_series(1, 20000) n`);
    await db.execute(sql`insert into users (id, username, role)
      select 'usr_many_' || n, 'many-' || n, 'user' from generate_series(1, 1000) n`);
    await db.execute(sql`analyze api_keys, users`);
    const list = selectUsers(db).orderBy(users.username).limit(1_000);
    const plan = await db.execute<{ "QUERY PLAN": string }>(
      sql`explain (analyze, timing off) ${list}`,
    );
    const loops = plan.flatMap((row) => [
      ...row["QUERY PLAN"].matchAll(/on api_keys.*loops=(\d+)/g),
    ]);
    expect(loops.map(([, times]) => times)).toEqual(["1"]);
    await db.delete(apiKeys).where(eq(apiKeys.ownerId, id));
    await db.delete(users).where(like(users.id, "usr_many_%"));
  });

  it("that is unknown is not found, whatever is asked", async () => {
    const unknown = { code: "not_found", status: 404 };
    for (const id of ["usr_0000000000000000000000", "' or '1'='1", ""]) {
      await expect(findUser(here.access, id)).rejects.toMatchObject(unknown);
      const change = updateUser(here.access, here.admin, id, { role: "admin" });
      await expect(change).rejects.toMatchObject(unknown);
      await expect(deleteUser(here.access, here.admin, id)).rejects.toMatchObject(unknown);
    }
  });

  it("leaves in the audit log who changed which fields, and nothing of what is secret", async () => {
    const id = await add();
    await updateUser(here.access, here.admin, id, { role: "admin", state: "active" });
    await updateUser(here.access, here.admin, id, { role: "admin" });
    await updateUser(here.access, here.admin, id, {
      role: "user",
      state: "disabled",
      password: "a password set by the administrator",
    });
    await deleteUser(here.access, here.admin, id);
    const by = { actorId: here.admin.caller.ownerId };
    expect(await auditOf(id)).toEqual([
      { ...by, action: "user.create", details: { username, role: "user" } },
      {
        ...by,
        action: "user.update",
        details: { changed: ["role"], role: "admin", state: "active" },
      },
      {
        ...by,
        action: "user.update",
        details: { changed: ["role", "state", "password"], role: "user", state: "disabled" },
      },
      { ...by, action: "user.delete", details: { username, keys: 0 } },
    ]);
  });
});

describe("K02 a user's sessions and keys", () => {
  it("are refused at once when the user is disabled, and within a poll on another replica", async () => {
    const id = await add();
    const { token } = await here.logIn(username, PASSWORD);
    const key = await here.createKey(id);
    expect([await isUsable(key), await isUsable(key, { ...here, keys: here.otherKeys })]).toEqual([
      true,
      true,
    ]);
    await updateUser(here.access, here.admin, id, { state: "disabled" });
    expect(await isUsable(key)).toBe(false);
    expect(await here.sessions.find(token)).toBeUndefined();
    await isRefusedElsewhere(key);
    await expect(here.logIn(username, PASSWORD)).rejects.toMatchObject({ status: 401 });

    await updateUser(here.access, here.admin, id, { state: "active" });
    expect(await isUsable(key)).toBe(true);
    // A session that was ended does not come back.
    expect(await here.sessions.find(token)).toBeUndefined();
  });

  it("go with the user; usage stays, and every replica hears of the keys", async () => {
    const id = await add();
    const { token } = await here.logIn(username, PASSWORD);
    const key = await here.createKey(id);
    const [row] = await here.database.db.select().from(apiKeys).where(eq(apiKeys.ownerId, id));
    const keyId = row?.id ?? "";
    await here.database.db.insert(biKeys).values({
      id: `bik_${username}`,
      name: "reports",
      keyHash: username,
      lastFour: "1234",
      ownerId: id,
    });
    await here.database.db.insert(usageRecords).values({
      id: `req_${username}`,
      startedAt: new Date(here.world.now),
      keyId,
      channel: "chat",
      model: "any",
      outcome: "ok",
      success: true,
      status: 200,
      inputTokens: 1,
      outputTokens: 1,
      cachedTokens: 0,
      reasoningTokens: 0,
      estimated: false,
      latencyMs: 1,
    });
    await deleteUser(here.access, here.admin, id);
    expect(await isUsable(key)).toBe(false);
    expect(await here.sessions.find(token)).toBeUndefined();
    await isRefusedElsewhere(key);
    const { db } = here.database;
    expect(await db.select().from(apiKeys).where(eq(apiKeys.ownerId, id))).toEqual([]);
    expect(await db.select().from(biKeys).where(eq(biKeys.ownerId, id))).toEqual([]);
    expect(await db.select().from(sessions).where(eq(sessions.userId, id))).toEqual([]);
    expect(await db.select().from(deletedApiKeys).where(eq(deletedApiKeys.id, keyId))).toHaveLength(
      1,
    );
    expect(await db.select().from(usageRecords).where(eq(usageRecords.keyId, keyId))).toHaveLength(
      1,
    );
  });

  it("go with the user, and a workflow that is being saved meanwhile passes to the deleter, disabled", async () => {
    const id = await add();
    const { db } = here.database;
    const workflow = `wf_${username}`;
    let deletion: Promise<void> = Promise.resolve();
    await withTransaction(db, async (transaction) => {
      // As the user's own change, which confirms its actor first.
      await transaction.select().from(users).where(eq(users.id, id)).for("key share");
      const definition = { triggers: [], steps: [] };
      await transaction
        .insert(workflows)
        .values({ id: workflow, name: "saved", ownerId: id, definition });
      await nextChange(transaction, "workflows");
      deletion = deleteUser(here.access, here.admin, id);
      deletion.catch(() => undefined);
      if (openedKind === "postgres") await untilWaiting(db);
    });
    await deletion;
    const saved = await db.select().from(workflows).where(eq(workflows.id, workflow));
    expect(saved).toMatchObject([{ ownerId: here.admin.caller.ownerId, enabled: false }]);
  });

  it("end, the sessions, and stay, the keys, when an administrator sets another password", async () => {
    const id = await add();
    const { token } = await here.logIn(username, PASSWORD);
    const key = await here.createKey(id);
    const password = "a password set by the administrator";
    const user = await updateUser(here.access, here.admin, id, { password });
    expect(user).toMatchObject({ mustChangePassword: true });
    expect(await here.sessions.find(token)).toBeUndefined();
    expect(await isUsable(key)).toBe(true);
    await expect(here.logIn(username, PASSWORD)).rejects.toMatchObject({ status: 401 });
    expect(await here.logIn(username, password)).toMatchObject({ mustChangePassword: true });
  });

  it("act by the role that the user has now", async () => {
    const id = await add();
    const key = await here.createKey(id);
    const role = async () => (await here.keys.find(key, here.world.now))?.caller.role;
    expect(await role()).toBe("user");
    await updateUser(here.access, here.admin, id, { role: "admin" });
    expect(await role()).toBe("admin");
    await updateUser(here.access, here.admin, id, { role: "user" });
    expect(await role()).toBe("user");
  });

  it("are not to be had by a login that comes while the user is disabled or deleted", async () => {
    for (const end of ["disable", "delete"] as const) {
      const name = `${username}-${end}`;
      const id = await add("user", name);
      const logins = Array.from({ length: 4 }, () => here.logIn(name, PASSWORD));
      const ending =
        end === "disable"
          ? updateUser(here.access, here.admin, id, { state: "disabled" })
          : deleteUser(here.access, here.admin, id);
      await Promise.allSettled([...logins, ending]);
      const left = await here.database.db.select().from(sessions).where(eq(sessions.userId, id));
      expect(left).toEqual([]);
    }
  });

  it("are not to be had by a login that has begun to write when the user is disabled, or gets another password", async () => {
    for (const change of [{ state: "disabled" }, { password: `${PASSWORD}!` }] as const) {
      const name = `${username}-${Object.keys(change)[0]}`;
      const id = await add("user", name);
      await here.logIn(name, PASSWORD);
      const { db } = here.database;
      let ending: Promise<unknown> = Promise.resolve();
      await withTransaction(db, async (transaction) => {
        // As a login, and then a change of the own password, hold these rows.
        await transaction.update(users).set({ lastLoginAt: new Date() }).where(eq(users.id, id));
        const row = { id: `sid_${name}`, tokenHash: name, userId: id, expiresAt: FAR };
        await transaction.insert(sessions).values(row);
        ending = updateUser(here.access, here.admin, id, change);
        ending.catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, UNDER_WAY_MS));
        await transaction
          .delete(sessions)
          .where(and(eq(sessions.userId, id), ne(sessions.id, row.id)));
      });
      await ending;
      expect(await db.select().from(sessions).where(eq(sessions.userId, id))).toEqual([]);
    }
  });
});

describe("the last active administrator", () => {
  const LAST = { code: "invalid_value", message: expect.stringContaining("last active admin") };

  it("is neither deleted, disabled nor demoted; others before count only when they are active", async () => {
    const id = await add("admin");
    // The last one's own session under another name: nobody else's could ask for it any more.
    const other = { ...here.admin, caller: { ...here.admin.caller, ownerId: "usr_somebody" } };
    const adminId = here.admin.caller.ownerId;
    await updateUser(here.access, here.admin, id, { state: "disabled" });
    for (const change of [{ role: "user" }, { state: "disabled" }] as const) {
      const [param] = Object.keys(change);
      await expect(updateUser(here.access, other, adminId, change)).rejects.toMatchObject({
        ...LAST,
        param,
      });
    }
    await expect(deleteUser(here.access, other, adminId)).rejects.toMatchObject(LAST);
    await updateUser(here.access, here.admin, id, { state: "active" });
    await updateUser(here.access, other, adminId, { role: "user" });
    const second = await here.actorFor(username, PASSWORD);
    await updateUser(here.access, second, adminId, { role: "admin" });
    await deleteUser(here.access, here.admin, id);
  });

  it("is left over when two demote, disable or delete each other at once", async () => {
    const ways = [
      {
        way: (actor: SessionActor, id: string) =>
          updateUser(here.access, actor, id, { role: "user" }),
        refusal: "insufficient_permission",
      },
      {
        way: (actor: SessionActor, id: string) =>
          updateUser(here.access, actor, id, { state: "disabled" }),
        refusal: "session_expired",
      },
      {
        way: (actor: SessionActor, id: string) => deleteUser(here.access, actor, id),
        refusal: "session_expired",
      },
    ];
    const { db } = here.database;
    const isAdmin = eq(users.id, here.admin.caller.ownerId);
    for (const [place, { way, refusal }] of ways.entries()) {
      const names = [`${username}-${place}-one`, `${username}-${place}-other`] as const;
      const ids = [await add("admin", names[0]), await add("admin", names[1])] as const;
      const actors = [
        await here.actorFor(names[0], PASSWORD),
        await here.actorFor(names[1], PASSWORD),
      ] as const;
      await db.update(users).set({ state: "disabled" }).where(isAdmin);
      const answers = await Promise.allSettled([way(actors[0], ids[1]), way(actors[1], ids[0])]);
      expect(codes(answers)).toEqual(["done", refusal]);
      expect(await activeAdmins()).toHaveLength(1);
      await db.update(users).set({ state: "active" }).where(isAdmin);
      await db.delete(users).where(inArray(users.id, [...ids]));
    }
  });

  it("is not needed of oneself: nobody deletes or disables themselves", async () => {
    await add("admin");
    const { ownerId } = here.admin.caller;
    const self = { code: "invalid_value", message: expect.stringContaining("yourself") };
    const disabled = updateUser(here.access, here.admin, ownerId, { state: "disabled" });
    await expect(disabled).rejects.toMatchObject({ ...self, param: "state" });
    await expect(deleteUser(here.access, here.admin, ownerId)).rejects.toMatchObject(self);
  });
});

describe("the license's number of users", () => {
  const LIMIT = { code: "license_user_limit", status: 403 };

  it("is exact when many are made at once, and counts active ones alone", async () => {
    const active = (await here.database.db.select().from(users)).filter(
      ({ state }) => state === "active",
    ).length;
    here.world.maxUsers = active + 2;
    const answers = await Promise.allSettled(
      Array.from({ length: 8 }, (_, place) => add("user", `${username}-${place}`)),
    );
    expect(codes(answers)).toEqual(["done", "done", ...Array(6).fill("license_user_limit")]);
    await expect(add()).rejects.toMatchObject(LIMIT);

    const made = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    const [first = "", second = ""] = made;
    await updateUser(here.access, here.admin, first, { state: "disabled" });
    const id = await add();
    const back = () => updateUser(here.access, here.admin, first, { state: "active" });
    await expect(back()).rejects.toMatchObject(LIMIT);
    // Two come back for one place.
    await updateUser(here.access, here.admin, second, { state: "disabled" });
    const both = await Promise.allSettled([
      back(),
      updateUser(here.access, here.admin, second, { state: "active" }),
    ]);
    expect(codes(both)).toEqual(["done", "license_user_limit"]);
    // What changes no number is not held up by it.
    here.world.maxUsers = 1;
    await updateUser(here.access, here.admin, id, { role: "admin", state: "active" });
    await deleteUser(here.access, here.admin, id);
    expect(await here.logIn("admin", ADMIN_PASSWORD)).toBeDefined();
  });
});
