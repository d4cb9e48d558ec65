import { desc, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { login } from "../../../../src/access/sessions/login/login.ts";
import { resetPassword } from "../../../../src/access/sessions/passwords/reset-password.ts";
import { updateUser } from "../../../../src/access/users/update-user.ts";
import { auditLog } from "../../../../src/db/tables/audit-log.ts";
import { loginFailures, sessions, users } from "../../../../src/db/tables/users.ts";
import {
  ADMIN_PASSWORD,
  addUser,
  openUserAccess,
  SESSION_HOURS,
  type TestUserAccess,
} from "../../../support/stages/access/user-access.ts";

const PASSWORD = "a password, and no better one";
const WRONG = "not the password at all";
const REFUSED = expect.objectContaining({
  code: "invalid_credentials",
  status: 401,
  message: "The name or the password is wrong.",
});
let here: TestUserAccess;

beforeAll(async () => {
  here = await openUserAccess();
  await addUser(here, "ada", PASSWORD);
  const disabled = await addUser(here, "disabled", PASSWORD);
  await updateUser(here.access, here.admin, disabled, { state: "disabled" });
  await addUser(here, "keyless", PASSWORD);
  await addUser(here, "former", PASSWORD, "admin");
  await here.database.db
    .update(users)
    .set({ passwordHash: null })
    .where(eq(users.username, "keyless"));
});

beforeEach(async () => {
  await here.database.db.delete(loginFailures);
});

afterAll(() => here.close());

const lastEntry = async () => {
  const [entry] = await here.database.db
    .select()
    .from(auditLog)
    .orderBy(desc(auditLog.id))
    .limit(1);
  return entry;
};
/** Seconds to wait, or what else came of a try. */
const tryOnce = (username: string, password: string, address?: string) =>
  here.logIn(username, password, address).then(
    () => "in" as const,
    ({ code, retryAfterSeconds }) =>
      code === "rate_limit_exceeded" ? (retryAfterSeconds as number) : (code as string),
  );
const tryWrongly = (username: string, times: number, address?: string) =>
  Array.from({ length: times }).reduce<Promise<unknown[]>>(
    async (before) => [...(await before), await tryOnce(username, WRONG, address)],
    Promise.resolve([]),
  );
const wait = (seconds: number) => {
  here.world.now += seconds * 1_000;
};

describe("a login", () => {
  it("opens a session of its own whose token is stored as a hash alone", async () => {
    const first = await here.logIn("ada", PASSWORD, "192.0.2.7");
    const second = await here.logIn("ada", PASSWORD);
    expect(first.token).toMatch(/^ses_[0-9A-Za-z]{43}$/);
    expect(second.token).not.toBe(first.token);
    expect(first).toEqual({
      token: first.token,
      expiresAt: new Date(here.world.now + SESSION_HOURS * 3_600_000),
      mustChangePassword: true,
      user: { id: expect.stringMatching(/^usr_/), username: "ada", role: "user" },
    });
    const [row] = await here.database.db
      .select()
      .from(sessions)
      .where(eq(sessions.tokenHash, here.access.hashSession(first.token)));
    expect(row).toMatchObject({
      id: expect.stringMatching(/^sid_[0-9A-Za-z]{22}$/),
      userId: first.user.id,
      address: "192.0.2.7",
    });
    expect(JSON.stringify(row)).not.toContain(first.token);
    expect(await here.sessions.find(first.token)).toMatchObject({ username: "ada" });
    const current = () => here.sessions.current(row?.id ?? "");
    expect(await current()).toEqual(await here.sessions.find(first.token));
    const change = (role: "admin" | "user") =>
      here.database.db.update(users).set({ role }).where(eq(users.id, first.user.id));
    await change("admin");
    expect(await current()).toMatchObject({ role: "admin" });
    await change("user");
    expect(await here.sessions.current("sid_of_nobody")).toBeUndefined();
  });

  it("takes the name in any case, notes when it was, and is audited without a secret", async () => {
    const { user, token } = await here.logIn("ADA", PASSWORD, "192.0.2.8");
    const [row] = await here.database.db.select().from(users).where(eq(users.id, user.id));
    expect(row?.lastLoginAt).toEqual(new Date(here.world.now));
    expect(row?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    const entry = await lastEntry();
    expect(entry).toMatchObject({
      action: "user.login",
      actorId: user.id,
      actorName: "ada",
      via: "session",
      address: "192.0.2.8",
      requestId: "req_login",
      targetId: user.id,
    });
    expect(JSON.stringify(entry)).not.toMatch(new RegExp(`${token}|${PASSWORD}`));
  });

  it("is one of a hundred of its user at most: those that end first make room, the new one stays", async () => {
    const { db } = here.database;
    const id = await addUser(here, "collector", PASSWORD);
    const later = new Date(here.world.now + 1_000 * SESSION_HOURS * 3_600_000);
    await db.execute(sql`
      insert into sessions (id, token_hash, user_id, expires_at)
      select 'sid_many_' || n, 'many ' || n, ${id}, ${later.toISOString()}::timestamptz + n * interval '1 minute'
      from generate_series(1, 101) n`);
    const left = async () => {
      const rows = await db.select().from(sessions).where(eq(sessions.userId, id));
      return new Set(rows.map((row) => row.id));
    };
    const first = await here.logIn("collector", PASSWORD);
    const many = await left();
    expect(many.size).toBe(100);
    expect(["1", "2", "3", "101"].map((n) => many.has(`sid_many_${n}`))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    // The first login is the one that ends first now.
    const second = await here.logIn("collector", PASSWORD);
    expect((await left()).size).toBe(100);
    expect(await here.sessions.find(first.token)).toBeUndefined();
    expect(await here.sessions.find(second.token)).toBeDefined();
    const isOthers = eq(sessions.userId, here.admin.caller.ownerId);
    expect(await db.select().from(sessions).where(isOthers)).not.toEqual([]);
  });

  it("ends after SESSION_LIFETIME_HOURS", async () => {
    const { token } = await here.logIn("ada", PASSWORD);
    wait(SESSION_HOURS * 3_600 - 1);
    expect(await here.sessions.find(token)).toBeDefined();
    wait(1);
    expect(await here.sessions.find(token)).toBeUndefined();
  });

  it.each([
    ["a wrong password", "ada", WRONG],
    ["an empty password", "ada", ""],
    ["a password of 10 kB", "ada", "x".repeat(10_000)],
    ["a password cut at a NUL", "ada", `${PASSWORD}\0`],
    ["another case of the password", "ada", PASSWORD.toUpperCase()],
    ["a name nobody has", "nobody", PASSWORD],
    ["a disabled user", "disabled", PASSWORD],
    ["a user without a password", "keyless", PASSWORD],
    ["a user without a password, and none given", "keyless", ""],
    ["a name with a space", "ada ", PASSWORD],
    ["a name with a NUL", "ada\0", PASSWORD],
    ["a name with a quote", "ada' or '1'='1", PASSWORD],
    ["a Cyrillic look-alike", "аdа", PASSWORD],
    ["a wildcard", "%", PASSWORD],
    ["a name of 10 kB", "a".repeat(10_000), PASSWORD],
    ["no name", "", PASSWORD],
  ])("is refused in one and the same way: %s", async (_, username, password) => {
    await expect(here.logIn(username, password)).rejects.toEqual(REFUSED);
    const entry = await lastEntry();
    expect(entry).toMatchObject({ action: "user.login_refused", via: "service", actorId: null });
    expect(entry?.address).toMatch(/^10\.0\.0\./);
  });

  it("keeps nothing of a name that is refused, where a password is soon typed by mistake", async () => {
    await tryOnce(PASSWORD.replaceAll(/\W/g, ""), "x");
    expect(JSON.stringify(await lastEntry())).not.toContain("apassword");
  });

  it("checks a password for a name that nobody has, too", async () => {
    const checked: (string | null)[] = [];
    const passwords = {
      ...here.access.passwords,
      isRight: (password: string, hash: string | null) => {
        checked.push(hash === null ? null : "a hash");
        return here.access.passwords.isRight(password, hash);
      },
    };
    const access = { ...here.access, passwords };
    for (const username of ["ada", "nobody", "keyless", "ada "]) {
      const origin = { address: "10.1.0.1", requestId: "req" };
      await expect(login(access, { username, password: WRONG }, origin)).rejects.toEqual(REFUSED);
    }
    expect(checked).toEqual(["a hash", null, null, null]);
  });
});

describe("the brake on logins", () => {
  it("lets an account fail five times, then makes it wait from a second on, doubling to fifteen minutes", async () => {
    expect(await tryWrongly("ada", 5)).toEqual(Array(5).fill("invalid_credentials"));
    for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
      expect(await tryOnce("ada", WRONG)).toBe(seconds);
      wait(seconds - 1);
      expect(await tryOnce("ada", WRONG)).toBe(1);
      wait(1);
      expect(await tryOnce("ada", WRONG)).toBe("invalid_credentials");
    }
  });

  it("does not even look at the password while it waits, and a right one then clears it", async () => {
    await tryWrongly("ada", 6);
    expect(await tryOnce("ada", PASSWORD)).toBe(1);
    wait(1);
    expect(await tryOnce("ada", PASSWORD)).toBe("in");
    expect(await tryWrongly("ada", 5)).toEqual(Array(5).fill("invalid_credentials"));
  });

  it("tells nothing of whether a name exists", async () => {
    const answers = await Promise.all(
      ["ada", "nobody", "disabled", "keyless"].map((name) => tryWrongly(name, 7)),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]?.slice(5)).toEqual([1, 1]);
  });

  it("lets an address fail twenty times whatever the names, and other addresses go on", async () => {
    const address = "203.0.113.9";
    for (let place = 0; place < 20; place += 1) {
      expect(await tryOnce(`nobody-${place}`, WRONG, address)).toBe("invalid_credentials");
    }
    expect(await tryOnce("nobody-20", WRONG, address)).toBe(1);
    expect(await tryOnce("ada", PASSWORD, address)).toBe(1);
    expect(await tryOnce("ada", PASSWORD)).toBe("in");
    wait(1);
    expect(await tryOnce("ada", PASSWORD, address)).toBe("in");
    // A success takes nothing from the address's count but itself, and adds no wait.
    expect(await tryOnce("ada", PASSWORD, address)).toBe("in");
    expect(await tryOnce("nobody-21", WRONG, address)).toBe("invalid_credentials");
    expect(await tryOnce("ada", PASSWORD, address)).toBe(2);
  });

  it("keeps nobody out of where they have logged in before, for wrong tries from elsewhere", async () => {
    const home = "2001:db8:77::1";
    expect(await tryOnce("ada", PASSWORD, home)).toBe("in");
    await tryWrongly("ada", 9);
    expect(await tryOnce("ada", PASSWORD)).toBe(1);
    expect(await tryOnce("ada", PASSWORD, "2001:db8:77::2")).toBe("in");
    // What is tried from there is braked by itself, and a login there lifts no wait elsewhere.
    await tryWrongly("ada", 5, home);
    expect(await tryOnce("ada", PASSWORD, home)).toBe(1);
    expect(await tryOnce("ada", PASSWORD)).toBe(1);
    wait(1);
    expect(await tryOnce("ada", PASSWORD, home)).toBe("in");
  });

  it("takes a /64 of IPv6, which one client has all of, for one address", async () => {
    for (let place = 0; place < 20; place += 1) {
      const address = `2001:db8:0:7:${place}::${place}`;
      expect(await tryOnce(`nobody-${place}`, WRONG, address)).toBe("invalid_credentials");
    }
    expect(await tryOnce("nobody-20", WRONG, "2001:db8:0:7:ffff::1")).toBe(1);
    expect(await tryOnce("nobody-20", WRONG, "2001:db8:0:8::1")).toBe("invalid_credentials");
  });

  it("says the longer of two waits", async () => {
    const address = "203.0.113.10";
    await tryWrongly("ada", 5);
    for (let place = 0; place < 20; place += 1) await tryOnce(`other-${place}`, WRONG, address);
    wait(1);
    await tryOnce("other-20", WRONG, address);
    expect(await tryOnce("ada", PASSWORD, address)).toBe(2);
  });

  it("cannot be outrun by tries side by side", async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => tryOnce("ada", WRONG)));
    expect(answers.filter((answer) => answer === "invalid_credentials")).toHaveLength(5);
    expect(answers.filter((answer) => answer === 1)).toHaveLength(35);
  });

  it("forgets a failure after a day", async () => {
    await tryWrongly("ada", 5);
    wait(86_401);
    expect(await tryWrongly("ada", 5)).toEqual(Array(5).fill("invalid_credentials"));
  });

  it("locks nobody out for long when the clock is set back", async () => {
    await tryWrongly("ada", 5);
    wait(-86_400 * 30);
    expect(await tryOnce("ada", PASSWORD)).toBe("in");
    wait(86_400 * 30);
  });

  it("leaves a session alone that is there", async () => {
    const { token } = await here.logIn("ada", PASSWORD);
    await tryWrongly("ada", 8);
    expect(await here.sessions.find(token)).toBeDefined();
  });

  it("does not count a try whose password could not be checked", async () => {
    const overloaded = new Error("overloaded");
    const passwords = { ...here.access.passwords, isRight: () => Promise.reject(overloaded) };
    for (let place = 0; place < 25; place += 1) {
      const origin = { address: "203.0.113.11", requestId: "req" };
      const given = { username: "ada", password: PASSWORD };
      await expect(login({ ...here.access, passwords }, given, origin)).rejects.toBe(overloaded);
    }
    expect(await tryOnce("ada", PASSWORD, "203.0.113.11")).toBe("in");
  });
});

describe("passwords", () => {
  it("are off with OIDC_ONLY, except for an administrator in the hour after reset-password", async () => {
    const access = { ...here.access, oidcOnly: true };
    const tryOff = (username: string, password: string) =>
      login(access, { username, password }, { address: null, requestId: "req" }).then(
        ({ mustChangePassword }) => (mustChangePassword ? "in, to change it" : "in"),
        ({ code, message }) => [code, message],
      );
    const resetting = { database: here.database, clock: access.clock };
    const off = ["invalid_credentials", expect.stringContaining("/api/auth/oidc/login")];
    expect(await tryOff("former", PASSWORD)).toEqual(off);
    expect((await lastEntry())?.details).toEqual({ reason: "password_off" });
    expect(await tryOff("former", WRONG)).toEqual(off);
    const before = here.world.now;
    const { password } = await resetPassword(resetting, "former");
    const ada = await resetPassword(resetting, "ada");
    expect(await tryOff("former", password)).toBe("in, to change it");
    expect(await tryOff("ada", ada.password)).toEqual(off);
    here.world.now = before + 3_599_000;
    expect(await tryOff("former", password)).toBe("in, to change it");
    here.world.now = before + 3_600_000;
    expect(await tryOff("former", password)).toEqual(off);
    here.world.now = before;
  });

  it("are checked a few at a time, and too many at once are told to come again", async () => {
    const isRight = () => here.access.passwords.isRight(WRONG, null);
    const answers = await Promise.allSettled(Array.from({ length: 80 }, isRight));
    const refused = answers.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(80 - 66);
    for (const answer of refused) {
      expect(answer).toMatchObject({ reason: { code: "overloaded", status: 503 } });
      expect(answer).toMatchObject({ reason: { retryAfterSeconds: expect.any(Number) } });
    }
    expect(await isRight()).toBe(false);
  });

  it("are the administrator's own at the first start", async () => {
    expect(await tryOnce("admin", ADMIN_PASSWORD)).toBe("in");
    const [row] = await here.database.db.execute(
      sql`select must_change_password from users where username = 'admin'`,
    );
    expect(row).toEqual({ must_change_password: false });
  });
});
