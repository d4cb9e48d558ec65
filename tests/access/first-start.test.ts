import { asc, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { firstStart } from "../../src/access/first-start.ts";
import type { Database } from "../../src/db/database.ts";
import { apiKeys } from "../../src/db/tables/api-keys.ts";
import { users } from "../../src/db/tables/users.ts";
import { openTestDatabase } from "../support/test-database.ts";
import { hashApiKey } from "../support/test-keys.ts";

const BOOTSTRAP_API_KEY = "sk-of-the-operator-0123456789";
const DEV_API_KEY = "sk-of-the-developer-0123456789";
let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});

beforeEach(() => database.db.execute(sql`truncate users, change_counters cascade`));

afterAll(() => database.close());

interface Given {
  BOOTSTRAP_API_KEY?: string;
  BOOTSTRAP_API_KEY_PASSTHROUGH?: boolean;
  DEV_API_KEY?: string;
}

const start = (settings: Given = {}) =>
  firstStart({
    database,
    settings: {
      BOOTSTRAP_API_KEY: undefined,
      BOOTSTRAP_API_KEY_PASSTHROUGH: false,
      DEV_API_KEY: undefined,
      ...settings,
    },
    hashApiKey,
  });

const keys = () => database.db.select().from(apiKeys).orderBy(asc(apiKeys.createdAt));

describe("the first start", () => {
  it("makes an administrator who cannot log in yet, and issues one key that is shown once", async () => {
    const { issuedKey } = await start();
    expect(issuedKey).toMatch(/^sk-[0-9A-Za-z]{43}$/);
    const [admin, ...others] = await database.db.select().from(users);
    expect(others).toEqual([]);
    expect(admin).toMatchObject({ username: "admin", role: "admin", passwordHash: null });
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
    expect(await keys()).toHaveLength(1);
  });

  it("makes the key of BOOTSTRAP_API_KEY instead, once", async () => {
    expect(await start({ BOOTSTRAP_API_KEY })).toEqual({});
    await start({ BOOTSTRAP_API_KEY });
    expect((await keys()).map(({ name, keyHash }) => [name, keyHash])).toEqual([
      ["bootstrap", hashApiKey(BOOTSTRAP_API_KEY)],
    ]);
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
    });
    expect(second?.changeSeq).toBeGreaterThan(first?.changeSeq ?? 0);
  });

  it("leaves a key alone that the developer's run happens to share", async () => {
    await start({ BOOTSTRAP_API_KEY, DEV_API_KEY: BOOTSTRAP_API_KEY });
    expect((await keys()).map(({ name }) => name)).toEqual(["bootstrap"]);
  });
});
