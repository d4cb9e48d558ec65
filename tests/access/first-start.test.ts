import { verify } from "@node-rs/argon2";
import { asc, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { firstStart } from "../../src/access/first-start.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import type { Database } from "../../src/db/database.ts";
import { apiKeys, deletedApiKeys } from "../../src/db/tables/api-keys.ts";
import { auditLog } from "../../src/db/tables/audit-log.ts";
import { bootstrapKeys } from "../../src/db/tables/bootstrap-keys.ts";
import { identities, users } from "../../src/db/tables/users.ts";
import { createLog } from "../../src/lib/log.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";
import { hashApiKey } from "../support/stages/access/test-keys.ts";

const ADMIN_PASSWORD = "the operator's own password";
const BOOTSTRAP_API_KEY = "sk-of-the-operator-0123456789";
const DEV_API_KEY = "sk-of-the-developer-0123456789";
const lines: string[] = [];
const log = createLog("warn", { write: (line: string) => void lines.push(line) });
let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});

beforeEach(() =>
  database.db.execute(
    sql`truncate users, change_counters, deleted_api_keys, bootstrap_keys, audit_log cascade`,
  ),
);

afterAll(() => database.close());

interface Given {
  ADMIN_PASSWORD?: string;
  BOOTSTRAP_API_KEY?: string;
  BOOTSTRAP_API_KEY_PASSTHROUGH?: boolean;
  DEV_API_KEY?: string;
}

const start = (settings: Given = {}) =>
  firstStart({ database, settings: { ...loadConfig({}).settings, ...settings }, log }, hashApiKey);

const keys = () => database.db.select().from(apiKeys).orderBy(asc(apiKeys.createdAt));

/** What the service itself has changed, in its order. */
const audited = async () => {
  const entries = await database.db.select().from(auditLog).orderBy(asc(auditLog.id));
  const secrets = [ADMIN_PASSWORD, BOOTSTRAP_API_KEY, DEV_API_KEY];
  for (const secret of secrets) expect(JSON.stringify(entries)).not.toContain(secret);
  return entries.map(({ via, actorId, action, targetId }) => {
    expect([via, actorId]).toEqual(["service", null]);
    return [action, targetId];
  });
};

const readAdmin = async () => {
  const [admin, ...others] = await database.db.select().from(users);
  expect(others).toEqual([]);
  return admin;
};
const isPassword = async (password: string) =>
  verify((await readAdmin())?.passwordHash ?? "", password);

describe("the first start", () => {
  it("makes an administrator and issues one key that is shown once", async () => {
    const { issuedKey } = await start();
    expect(issuedKey).toMatch(/^sk-[0-9A-Za-z]{43}$/);
    const admin = await readAdmin();
    expect(admin).toMatchObject({ username: "admin", role: "admin", state: "active" });
    expect(admin?.id).toMatch(/^usr_[0-9A-Za-z]{22}$/);
    const [key] = await keys();
    expect(key).toMatchObject({
      name: "first",
      ownerId: admin?.id,
      state: "active",
      keyHash: hashApiKey(issuedKey ?? ""),
      lastFour: issuedKey?.slice(-4),
      requestLimit: null,
      monthlyTokenLimit: null,
      rpmLimit: null,
      tokenLimit: null,
      ipAllow: [],
      expiresAt: null,
    });
    expect(key?.id).toMatch(/^key_[0-9A-Za-z]{22}$/);
    expect(JSON.stringify(key)).not.toContain(issuedKey);
    expect(await audited()).toEqual([
      ["user.create", admin?.id],
      ["user.update", admin?.id],
      ["api_key.create", key?.id],
    ]);
  });

  it("writes into the audit log what it changes, and nothing when it changes nothing", async () => {
    const passthrough = { BOOTSTRAP_API_KEY, BOOTSTRAP_API_KEY_PASSTHROUGH: true };
    await start({ ADMIN_PASSWORD, BOOTSTRAP_API_KEY });
    await database.db.execute(sql`truncate audit_log`);
    await start(passthrough);
    await start(passthrough);
    await start({ DEV_API_KEY });
    await start({ DEV_API_KEY });
    await start({ DEV_API_KEY: `${DEV_API_KEY}-next` });
    await start();
    const [bootstrap] = await keys();
    expect(await audited()).toEqual([
      ["api_key.update", bootstrap?.id],
      ["api_key.create", "key_dev"],
      ["api_key.rotate", "key_dev"],
    ]);
  });

  it("makes up the administrator's password, which is shown once and has to be changed", async () => {
    const { adminPassword = "" } = await start();
    expect(adminPassword).toMatch(/^[0-9A-Za-z]{20,}$/);
    expect(await isPassword(adminPassword)).toBe(true);
    expect(await readAdmin()).toMatchObject({ mustChangePassword: true });
    expect((await readAdmin())?.passwordHash).not.toContain(adminPassword);
  });

  it("takes the password of ADMIN_PASSWORD as it is, in force, and shows none", async () => {
    expect(await start({ ADMIN_PASSWORD })).not.toHaveProperty("adminPassword");
    expect(await isPassword(ADMIN_PASSWORD)).toBe(true);
    expect(await readAdmin()).toMatchObject({ mustChangePassword: false });
  });

  it("changes no password that is there, whatever ADMIN_PASSWORD says later, and says so", async () => {
    await start({ ADMIN_PASSWORD });
    const before = await readAdmin();
    expect(await start({ ADMIN_PASSWORD })).toEqual({});
    expect(await start()).toEqual({});
    lines.length = 0;
    expect(await start({ ADMIN_PASSWORD: "a later secret" })).toEqual({});
    expect(lines).toEqual([expect.stringMatching("ADMIN_PASSWORD is ignored")]);
    expect(lines.join()).not.toContain("a later secret");
    expect(await readAdmin()).toEqual(before);
  });

  it("gives a password to the administrator of a release that knew none", async () => {
    await start({ ADMIN_PASSWORD });
    await database.db.update(users).set({ passwordHash: null }).where(eq(users.username, "admin"));
    const { adminPassword = "", issuedKey } = await start();
    expect(issuedKey).toBeUndefined();
    expect(await isPassword(adminPassword)).toBe(true);
  });

  it("gives none to a person who logs in through a provider, nor to an administrator of another name", async () => {
    await start();
    const person = { id: "usr_alice", username: "alice", role: "admin" as const };
    await database.db.insert(users).values(person);
    await database.db.insert(identities).values({
      ...{ userId: person.id, issuer: "https://sso.example", subject: "alice" },
    });
    await database.db.update(users).set({ state: "disabled" }).where(eq(users.username, "admin"));
    const passwordOf = async () =>
      (await database.db.select().from(users).where(eq(users.id, person.id)))[0]?.passwordHash;
    expect(await start({ ADMIN_PASSWORD })).not.toHaveProperty("adminPassword");
    expect(await passwordOf()).toBeNull();
    await database.db.delete(identities);
    expect(await start()).not.toHaveProperty("adminPassword");
    expect(await passwordOf()).toBeNull();
  });

  it("is done once: later starts issue nothing and change nothing", async () => {
    await start();
    const before = await keys();
    expect(await start()).toEqual({});
    expect(await keys()).toEqual(before);
  });

  it("is done once when three replicas start at once", async () => {
    const answers = await Promise.all([start(), start(), start()]);
    expect(answers.filter(({ issuedKey }) => issuedKey !== undefined)).toHaveLength(1);
    const [password, ...others] = answers.flatMap(({ adminPassword }) => adminPassword ?? []);
    expect(others).toEqual([]);
    expect(await isPassword(password ?? "")).toBe(true);
    expect(await keys()).toHaveLength(1);
  });

  it("makes the key of BOOTSTRAP_API_KEY instead, once", async () => {
    expect(await start({ BOOTSTRAP_API_KEY })).not.toHaveProperty("issuedKey");
    await start({ BOOTSTRAP_API_KEY });
    expect((await keys()).map(({ name, keyHash }) => [name, keyHash])).toEqual([
      ["bootstrap", hashApiKey(BOOTSTRAP_API_KEY)],
    ]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ["deleted", () => database.db.delete(apiKeys)],
    ["gone with its owner", () => database.db.delete(users)],
    ["replaced", () => database.db.update(apiKeys).set({ keyHash: "another" })],
  ])("leaves the key of BOOTSTRAP_API_KEY dead once it was %s, and says so", async (_, revoke) => {
    await start({ BOOTSTRAP_API_KEY });
    lines.length = 0;
    await revoke();
    const settings = { BOOTSTRAP_API_KEY, BOOTSTRAP_API_KEY_PASSTHROUGH: true };
    await Promise.all([start(settings), start(settings)]);
    expect((await keys()).map(({ keyHash }) => keyHash)).not.toContain(
      hashApiKey(BOOTSTRAP_API_KEY),
    );
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/"level":"warn".*BOOTSTRAP_API_KEY is ignored/);
    expect(lines[0]).not.toContain(BOOTSTRAP_API_KEY);
    await start({ BOOTSTRAP_API_KEY: `${BOOTSTRAP_API_KEY}-next` });
    expect(lines).toHaveLength(2);
    expect((await keys()).map(({ name }) => name)).toContain("bootstrap");
  });

  it("leaves it dead also when a release before has made it", async () => {
    await start({ BOOTSTRAP_API_KEY });
    const [before] = await keys();
    await database.db.delete(bootstrapKeys);
    await start({ BOOTSTRAP_API_KEY });
    expect(await keys()).toEqual([before]);
    await database.db.delete(apiKeys);
    await start({ BOOTSTRAP_API_KEY });
    expect((await keys()).map(({ name }) => name)).toEqual(["first"]);
  });

  it("gives it to an administrator who is not disabled, and to the oldest when all are", async () => {
    await start({ ADMIN_PASSWORD });
    const [oldest] = await database.db.update(users).set({ state: "disabled" }).returning();
    await start({ BOOTSTRAP_API_KEY: `${BOOTSTRAP_API_KEY}-1` });
    const createdAt = new Date(Date.now() + 60_000);
    const later = { id: "usr_later", username: "later", role: "admin", createdAt } as const;
    await database.db.insert(users).values(later);
    await start({ BOOTSTRAP_API_KEY: `${BOOTSTRAP_API_KEY}-2` });
    const owners = new Map((await keys()).map(({ keyHash, ownerId }) => [keyHash, ownerId]));
    expect(owners.get(hashApiKey(`${BOOTSTRAP_API_KEY}-1`))).toBe(oldest?.id);
    expect(owners.get(hashApiKey(`${BOOTSTRAP_API_KEY}-2`))).toBe(later.id);
  });

  it("gives the key of BOOTSTRAP_API_KEY passthrough when asked, and never takes it back", async () => {
    await start({ BOOTSTRAP_API_KEY });
    const [plain] = await keys();
    expect(plain).toMatchObject({ passthrough: false });
    await start({ BOOTSTRAP_API_KEY, BOOTSTRAP_API_KEY_PASSTHROUGH: true });
    const [granted, ...others] = await keys();
    expect(others).toEqual([]);
    expect(granted).toMatchObject({ id: plain?.id, passthrough: true });
    expect(granted?.changeSeq).toBeGreaterThan(plain?.changeSeq ?? 0);
    await start({ BOOTSTRAP_API_KEY });
    expect((await keys())[0]).toMatchObject({ passthrough: true });
  });

  it("gives the developer's key the secret of this run in place of the last one's", async () => {
    await start({ DEV_API_KEY });
    const [first] = await keys();
    await start({ DEV_API_KEY: `${DEV_API_KEY}-next` });
    const [second, ...others] = await keys();
    expect(others).toEqual([]);
    expect(second).toMatchObject({
      id: first?.id,
      name: "dev",
      keyHash: hashApiKey(`${DEV_API_KEY}-next`),
      toolScope: { tools: ["*"], sql_connections: ["*"] },
    });
    expect(second?.changeSeq).toBeGreaterThan(first?.changeSeq ?? 0);
  });

  it("makes the developer's key anew when it was deleted, and no note says that it is gone", async () => {
    for (let run = 0; run < 2; run += 1) {
      await start({ DEV_API_KEY });
      const [key] = await keys();
      expect(key?.name).toBe("dev");
      expect(await database.db.select().from(deletedApiKeys)).toEqual([]);
      await database.db.insert(deletedApiKeys).values({ id: key?.id ?? "", changeSeq: 100 });
      await database.db.delete(apiKeys);
    }
  });

  it("leaves a key alone that the developer's run happens to share", async () => {
    await start({ BOOTSTRAP_API_KEY, DEV_API_KEY: BOOTSTRAP_API_KEY });
    expect((await keys()).map(({ name }) => name)).toEqual(["bootstrap"]);
  });
});
