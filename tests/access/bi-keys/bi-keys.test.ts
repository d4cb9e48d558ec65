import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { BiKeyFields } from "../../../src/access/bi-keys/bi-keys.ts";
import {
  BI_KEY_LIMITS,
  createBiKey,
  deleteBiKey,
  findBiKey,
  listBiKeys,
  rotateBiKey,
  updateBiKey,
} from "../../../src/access/bi-keys/bi-keys.ts";
import { deleteUser } from "../../../src/access/users/delete-user.ts";
import { auditLog } from "../../../src/db/tables/audit-log.ts";
import { biKeys } from "../../../src/db/tables/bi-keys.ts";
import {
  addUser,
  openUserAccess,
  type TestUserAccess,
} from "../../support/stages/access/user-access.ts";

const NOT_FOUND = expect.objectContaining({ code: "not_found", status: 404 });
const UNKNOWN = "bik_0000000000000000000000";

let here: TestUserAccess;

beforeAll(async () => {
  here = await openUserAccess();
});
afterAll(() => here.close());
afterEach(() => here.database.db.execute(sql`truncate bi_keys, audit_log`));

const create = (fields: Partial<BiKeyFields> = {}) =>
  createBiKey(here.access, here.admin, {
    name: "a report",
    datasets: ["orders"],
    ipAllow: [],
    expiresAt: null,
    ...BI_KEY_LIMITS,
    ...fields,
  });

/** `action details` of a key, the oldest first. */
async function entries(id: string): Promise<string[]> {
  const rows = await here.database.db
    .select()
    .from(auditLog)
    .where(eq(auditLog.targetId, id))
    .orderBy(auditLog.id);
  return rows.map(({ action, details }) => `${action} ${JSON.stringify(details)}`);
}

async function storedKey(id: string) {
  const [row] = await here.database.db.select().from(biKeys).where(eq(biKeys.id, id));
  return row;
}

describe("2.2 a BI key", () => {
  it("is stored as a hash alone, and is its maker's", async () => {
    const { key, text } = await create();
    expect(text).toMatch(/^bk-[0-9A-Za-z]{43}$/);
    expect(key).toEqual({
      id: expect.stringMatching(/^bik_[0-9A-Za-z]{22}$/),
      name: "a report",
      lastFour: text.slice(-4),
      state: "active",
      ownerId: here.admin.caller.ownerId,
      datasets: ["orders"],
      ...BI_KEY_LIMITS,
      ipAllow: [],
      expiresAt: null,
      createdAt: new Date(here.world.now),
      lastUsedAt: null,
    });
    const row = await storedKey(key.id);
    expect(row?.keyHash).toBe(here.access.hashBiKey(text));
    expect(row?.keyHash).not.toBe(here.access.hashApiKey(text));
    expect(JSON.stringify(row)).not.toContain(text.slice(0, -4));
    expect(await findBiKey(here.access, key.id)).toEqual(key);
  });

  it("changes by the fields that are given, and by no others", async () => {
    const { key } = await create();
    const expiresAt = new Date(here.world.now + 1_000);
    const fields = { datasets: [], ipAllow: ["192.0.2.0/24"], expiresAt };
    const changed = await updateBiKey(here.access, here.admin, { id: key.id, fields });
    expect(changed).toEqual({ ...key, ...fields });
    const off = { id: key.id, fields: { state: "inactive", expiresAt: null } } as const;
    expect(await updateBiKey(here.access, here.admin, off)).toEqual({
      ...changed,
      ...off.fields,
    });
    const nothing = { id: key.id, fields: { name: undefined } };
    expect(await updateBiKey(here.access, here.admin, nothing)).toMatchObject({ name: "a report" });
    expect(await entries(key.id)).toHaveLength(3);
  });

  it("has a new secret after a rotation, and the old one no more", async () => {
    const { key, text } = await create();
    const rotated = await rotateBiKey(here.access, here.admin, key.id);
    expect(rotated.text).toMatch(/^bk-[0-9A-Za-z]{43}$/);
    expect(rotated.text).not.toBe(text);
    expect(rotated.key).toEqual({ ...key, lastFour: rotated.text.slice(-4) });
    expect((await storedKey(key.id))?.keyHash).toBe(here.access.hashBiKey(rotated.text));
  });

  it("goes when it is deleted, and with its owner", async () => {
    const { key } = await create();
    await deleteBiKey(here.access, here.admin, key.id);
    await expect(findBiKey(here.access, key.id)).rejects.toEqual(NOT_FOUND);

    const password = "a password of the other one";
    const id = await addUser(here, "other", password, "admin");
    const other = await here.actorFor("other", password);
    const fields = { name: "theirs", datasets: [], ipAllow: [], expiresAt: null, ...BI_KEY_LIMITS };
    const theirs = await createBiKey(here.access, other, fields);
    await deleteUser(here.access, here.admin, id);
    expect(await storedKey(theirs.key.id)).toBeUndefined();
  });

  it("that does not exist can be neither changed nor rotated nor deleted, and leaves no entry", async () => {
    const change = { id: UNKNOWN, fields: { name: "taken over" } };
    for (const attempt of [
      () => updateBiKey(here.access, here.admin, change),
      () => updateBiKey(here.access, here.admin, { id: UNKNOWN, fields: {} }),
      () => rotateBiKey(here.access, here.admin, UNKNOWN),
      () => deleteBiKey(here.access, here.admin, UNKNOWN),
    ]) {
      await expect(attempt()).rejects.toEqual(NOT_FOUND);
    }
    expect(await entries(UNKNOWN)).toEqual([]);
  });

  it("leaves an entry of each change, and no secret in any", async () => {
    const { key, text } = await create();
    const fields = { name: "another", expiresAt: new Date(here.world.now + 1_000) };
    await updateBiKey(here.access, here.admin, { id: key.id, fields });
    const rotated = await rotateBiKey(here.access, here.admin, key.id);
    await deleteBiKey(here.access, here.admin, key.id);
    expect(await entries(key.id)).toEqual([
      'bi_key.create {"name":"a report","datasets":["orders"],"ip_allow":[],"row_limit":1000000,"expires_at":null,"max_connections":10,"timeout_seconds":30}',
      'bi_key.update {"name":"another","expires_at":"2026-11-21T00:00:01.000Z"}',
      'bi_key.rotate {"name":"another"}',
      'bi_key.delete {"name":"another"}',
    ]);
    const log = JSON.stringify(await here.database.db.select().from(auditLog));
    for (const secret of [text, rotated.text]) {
      expect(log).not.toContain(secret);
      expect(log).not.toContain(here.access.hashBiKey(secret));
    }
  });

  it("does not change when its entry cannot be written", async () => {
    const { key } = await create();
    await here.database.db.execute(sql`alter table audit_log rename to elsewhere`);
    try {
      const change = { id: key.id, fields: { name: "unseen" } };
      for (const attempt of [
        () => create({ name: "unseen" }),
        () => updateBiKey(here.access, here.admin, change),
        () => rotateBiKey(here.access, here.admin, key.id),
        () => deleteBiKey(here.access, here.admin, key.id),
      ]) {
        await expect(attempt()).rejects.toThrow();
      }
    } finally {
      await here.database.db.execute(sql`alter table elsewhere rename to audit_log`);
    }
    const { keys, total } = await listBiKeys(here.access, { limit: 10, offset: 0 });
    expect({ keys, total }).toEqual({ keys: [key], total: 1 });
  });
});

describe("the list of BI keys", () => {
  it("has the newest first, in pages, with their number", async () => {
    for (const name of ["one", "two", "three"]) {
      here.world.now += 1_000;
      await create({ name });
    }
    const names = async (limit: number, offset: number) => {
      const { keys, total } = await listBiKeys(here.access, { limit, offset });
      return [keys.map(({ name }) => name), total];
    };
    expect(await names(2, 0)).toEqual([["three", "two"], 3]);
    expect(await names(2, 2)).toEqual([["one"], 3]);
    expect(await names(2, 9)).toEqual([[], 3]);
  });

  it("is searched by a part of the name, the whole id or the last four characters", async () => {
    const { key } = await create({ name: "Sales 100%_net" });
    await create({ name: "Sales 1000 net" });
    const find = async (search: string) =>
      (await listBiKeys(here.access, { search, limit: 10, offset: 0 })).total;
    expect(await find("sales")).toBe(2);
    expect(await find("100%_")).toBe(1);
    expect(await find(key.id)).toBe(1);
    expect(await find(key.id.slice(0, -1))).toBe(0);
    expect(await find(key.lastFour)).toBe(1);
    expect(await find("nothing of the kind")).toBe(0);
  });
});
