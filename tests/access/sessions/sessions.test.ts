import { desc, eq, like, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { SessionActor } from "../../../src/access/actor.ts";
import { pruneLogins } from "../../../src/access/sessions/login/prune-logins.ts";
import { logout } from "../../../src/access/sessions/logout.ts";
import { changePassword } from "../../../src/access/sessions/passwords/change-password.ts";
import { updateUser } from "../../../src/access/users/update-user.ts";
import { withTransaction } from "../../../src/db/context.ts";
import { auditLog } from "../../../src/db/tables/audit-log.ts";
import { loginFailures, sessions } from "../../../src/db/tables/users.ts";
import {
  addUser,
  openUserAccess,
  type TestUserAccess,
} from "../../support/stages/access/user-access.ts";

const PASSWORD = "a password, and no better one";
const NEXT = "a better password than that one";
let here: TestUserAccess;
let places = 0;
let username: string;
let id: string;

beforeAll(async () => {
  here = await openUserAccess();
});

beforeEach(async () => {
  username = `user-${++places}`;
  id = await addUser(here, username, PASSWORD);
});

afterAll(() => here.close());

const isOpen = async (token: string) => (await here.sessions.find(token)) !== undefined;

async function open(password = PASSWORD): Promise<{ token: string; actor: SessionActor }> {
  const { token } = await here.logIn(username, password);
  const caller = await here.sessions.find(token);
  if (caller === undefined) throw new Error("no session");
  return { token, actor: { caller, address: `192.0.2.${places}`, requestId: "req_test" } };
}

describe("a session", () => {
  it("is over once it is logged out of, and the user's others go on", async () => {
    const one = await open();
    const other = await open();
    await logout(here.access, one.actor);
    expect(await isOpen(one.token)).toBe(false);
    expect(await isOpen(other.token)).toBe(true);
    // Twice is no fault, and is audited once.
    await logout(here.access, one.actor);
    const entries = await here.database.db
      .select()
      .from(auditLog)
      .where(eq(auditLog.credentialId, one.actor.caller.sessionId));
    expect(entries.map(({ action }) => action).sort()).toEqual(["user.login", "user.logout"]);
  });

  it("tells of its user as of now", async () => {
    const { token } = await open();
    await updateUser(here.access, here.admin, id, { role: "admin" });
    expect(await here.sessions.find(token)).toMatchObject({ role: "admin" });
  });

  it("is known by nothing but its whole token", async () => {
    const { token, actor } = await open();
    for (const text of [
      token.slice(0, -1),
      `${token}x`,
      token.toLowerCase(),
      actor.caller.sessionId,
      here.access.hashSession(token),
      `ses_' or '1'='1`,
    ]) {
      expect(await isOpen(text)).toBe(false);
    }
  });
});

describe("an own password", () => {
  it("that is changed ends the other sessions, and this one goes on under a new token alone", async () => {
    const one = await open();
    const other = await open();
    const changed = await changePassword(here.access, one.actor, { current: PASSWORD, next: NEXT });
    expect(changed).toMatchObject({ mustChangePassword: false, user: { id, username } });
    expect(changed.token).toMatch(/^ses_[0-9A-Za-z]{43}$/);
    expect([await isOpen(one.token), await isOpen(other.token)]).toEqual([false, false]);
    expect(await here.sessions.find(changed.token)).toEqual({
      ...one.actor.caller,
      mustChangePassword: false,
    });
    await expect(here.logIn(username, PASSWORD)).rejects.toMatchObject({ status: 401 });
    expect(await here.logIn(username, NEXT)).toMatchObject({ mustChangePassword: false });
  });

  it("is changed with the current one alone, and a wrong one counts as a failed login", async () => {
    const { actor, token } = await open();
    const change = (current: string) =>
      changePassword(here.access, actor, { current, next: NEXT }).catch(({ code }) => code);
    for (let time = 0; time < 5; time += 1) {
      expect(await change("a wrong one")).toBe("invalid_credentials");
    }
    expect(await change(PASSWORD)).toBe("rate_limit_exceeded");
    await expect(here.logIn(username, PASSWORD)).rejects.toMatchObject({ status: 429 });
    expect(await isOpen(token)).toBe(true);
    here.world.now += 1_000;
    expect(await change(PASSWORD)).toMatchObject({ user: { id } });
    await expect(here.logIn(username, NEXT)).resolves.toBeDefined();
  });

  it("is not changed to what it is", async () => {
    const { actor } = await open();
    await expect(
      changePassword(here.access, actor, { current: PASSWORD, next: PASSWORD }),
    ).rejects.toMatchObject({ code: "invalid_value", param: "new_password" });
  });

  it("is changed by one of two who do it at once", async () => {
    const one = await open();
    const other = await open();
    const answers = await Promise.allSettled([
      changePassword(here.access, one.actor, { current: PASSWORD, next: NEXT }),
      changePassword(here.access, other.actor, { current: PASSWORD, next: `${NEXT}!` }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const open_ = await here.database.db.select().from(sessions).where(eq(sessions.userId, id));
    expect(open_).toHaveLength(1);
  });

  it("is not changed by a session that has ended meanwhile", async () => {
    const { actor } = await open();
    const change = () => changePassword(here.access, actor, { current: PASSWORD, next: NEXT });
    const ended = { code: "session_expired", status: 401 };
    here.world.now += 43_200_000;
    await expect(change()).rejects.toMatchObject(ended);
    here.world.now -= 43_200_000;
    await logout(here.access, actor);
    await expect(change()).rejects.toMatchObject(ended);
    expect(await here.logIn(username, PASSWORD)).toMatchObject({ user: { id } });
  });

  it("leaves an entry in the audit log, without a word of it", async () => {
    const { actor } = await open();
    await changePassword(here.access, actor, { current: PASSWORD, next: NEXT });
    const [entry] = await here.database.db
      .select()
      .from(auditLog)
      .where(eq(auditLog.targetId, id))
      .orderBy(desc(auditLog.id))
      .limit(1);
    expect(entry).toMatchObject({ action: "user.password_change", actorId: id, details: {} });
  });
});

describe("the hourly cleaning", () => {
  it("does not wait for what somebody holds", async (context) => {
    // The embedded database has one session: nobody else can hold anything.
    if (here.database.kind === "embedded") context.skip();
    await open();
    const { db } = here.database;
    const { now } = here.world;
    const longAgo = new Date(now - 172_800_000);
    const isHeld = eq(sessions.userId, id);
    await db.update(sessions).set({ expiresAt: longAgo }).where(isHeld);
    await db.update(loginFailures).set({ lastFailedAt: longAgo });
    await withTransaction(db, async (transaction) => {
      await transaction.select().from(sessions).where(isHeld).for("update");
      await transaction.select().from(loginFailures).for("update");
      await pruneLogins(db, now);
    });
    expect(await db.select().from(sessions).where(isHeld)).toHaveLength(1);
    expect(await db.select().from(loginFailures)).not.toEqual([]);
    await pruneLogins(db, now);
    expect(await db.select().from(sessions).where(isHeld)).toEqual([]);
    expect(await db.select().from(loginFailures)).toEqual([]);
  });

  it("says when there may be more than one transaction deletes", async () => {
    const { db } = here.database;
    const lastFailedAt = new Date(here.world.now - 172_800_000);
    await db.execute(sql`
      insert into login_failures (subject, failures, last_failed_at)
      select 'user:random ' || number, 1, ${lastFailedAt.toISOString()}::timestamptz
      from generate_series(1, 10001) as number`);
    expect(await pruneLogins(db, here.world.now)).toBe(true);
    expect(await pruneLogins(db, here.world.now)).toBe(false);
    const left = db
      .select()
      .from(loginFailures)
      .where(like(loginFailures.subject, "user:random %"));
    expect(await left).toEqual([]);
  });

  it("deletes what is over and forgotten, and nothing else", async () => {
    await here.database.db.delete(loginFailures);
    const { token } = await open();
    await here.logIn(username, "a wrong one", "203.0.113.1").catch(() => undefined);
    const rows = async () => [
      (await here.database.db.select().from(sessions).where(eq(sessions.userId, id))).length,
      (await here.database.db.select().from(loginFailures)).length,
    ];
    const startedAt = here.world.now;
    await pruneLogins(here.database.db, startedAt + 3_600_000);
    // The address of the login that succeeded is there, too, with no failure.
    expect(await rows()).toEqual([1, 3]);
    expect(await isOpen(token)).toBe(true);
    await pruneLogins(here.database.db, startedAt + 43_200_001);
    expect(await rows()).toEqual([0, 3]);
    await pruneLogins(here.database.db, startedAt + 86_400_001);
    expect(await rows()).toEqual([0, 0]);
  });
});
