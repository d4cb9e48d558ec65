import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { UserAccess } from "../../../../src/access/access.ts";
import {
  BI_KEY_LIMITS,
  type BiKeyFields,
  type BiKeyPatch,
  createBiKey,
  deleteBiKey,
  rotateBiKey,
  updateBiKey,
} from "../../../../src/access/bi-keys/bi-keys.ts";
import { isUsableBiKey } from "../../../../src/access/bi-keys/known/known-bi-key.ts";
import {
  type KnownBiKeys,
  openBiKeys,
} from "../../../../src/access/bi-keys/known/known-bi-keys.ts";
import { deleteUser } from "../../../../src/access/users/delete-user.ts";
import { updateUser } from "../../../../src/access/users/update-user.ts";
import { biKeys } from "../../../../src/db/tables/bi-keys.ts";
import { createLog } from "../../../../src/lib/log.ts";
import {
  addUser,
  openUserAccess,
  type TestUserAccess,
} from "../../../support/stages/access/user-access.ts";

const log = createLog("silent");
let here: TestUserAccess;
/** One database, two replicas. */
let own: KnownBiKeys;
let other: KnownBiKeys;
let access: UserAccess;
const changes: string[][] = [];

beforeAll(async () => {
  here = await openUserAccess();
  const { database } = here;
  const { hashBiKey } = here.access;
  own = await openBiKeys({ database, hashBiKey, log });
  other = await openBiKeys({ database, hashBiKey, log });
  other.onChange((ids) => void changes.push([...ids]));
  const catchUp = async () => void (await Promise.all([here.keys.catchUp(), own.catchUp()]));
  access = { ...here.access, keys: { catchUp } };
});
afterAll(async () => {
  await own.close();
  await other.close();
  await here.close();
});
afterEach(() => {
  changes.length = 0;
});

const create = (fields: Partial<BiKeyFields> = {}, actor = here.admin) =>
  createBiKey(access, actor, {
    name: "a report",
    datasets: ["orders"],
    ipAllow: [],
    expiresAt: null,
    ...BI_KEY_LIMITS,
    ...fields,
  });

/** What the other replica reads of committed changes; resolves once its listeners were called. */
async function elsewhere(): Promise<void> {
  await other.catchUp();
  await new Promise((resolve) => setImmediate(resolve));
}

async function isUsable(keys: KnownBiKeys, text: string): Promise<boolean> {
  const key = await keys.find(text);
  return key !== undefined && isUsableBiKey(key, here.world.now);
}

describe("2.2 a BI key in memory", () => {
  it("has what it opens, and is found by its secret, its id and in the list", async () => {
    const { key, text } = await create({ ipAllow: ["192.0.2.0/24"], rowLimit: 7 });
    const found = own.find(text);
    expect(found).toMatchObject({
      id: key.id,
      name: "a report",
      caller: { kind: "bi_key", keyId: key.id, keyName: "a report", ownerId: key.ownerId },
      isActive: true,
      views: new Set(["orders"]),
      rowLimit: 7,
      timeoutSeconds: 30,
      maxConnections: 10,
    });
    expect(own.byId(key.id)).toBe(found);
    expect(own.all()).toContain(found);
    const everything = await create({ datasets: ["*"] });
    expect(own.byId(everything.key.id)?.views).toBe("all");
  });

  it("that another replica has just created is known here without waiting", async ({ skip }) => {
    skip(here.database.kind === "embedded", "the embedded database has one replica only");
    const { key, text } = await create();
    expect((await other.find(text))?.id).toBe(key.id);
    expect(await other.find(`bk-${"0".repeat(43)}`)).toBeUndefined();
  });

  it("that could not be read is read once it can be, also where nobody else writes", async () => {
    const { database, access: base } = here;
    let isAway = false;
    const askOwn: typeof database.askOwn = (work) =>
      isAway ? Promise.reject(new Error("away")) : database.askOwn(work);
    const shaky = { ...database, kind: "embedded" as const, askOwn };
    const keys = await openBiKeys({ database: shaky, hashBiKey: base.hashBiKey, log });
    isAway = true;
    const { key } = await create();
    await keys.catchUp();
    expect(keys.byId(key.id)).toBeUndefined();
    isAway = false;
    await expect.poll(() => keys.byId(key.id)?.id).toBe(key.id);
    await keys.close();
    await elsewhere();
  });

  it("is read anew after a change whose outcome nobody learned", async () => {
    const { key } = await create();
    const { database } = here;
    let reads = 0;
    const ask: typeof database.ask = async (work) => {
      await database.ask(work);
      throw new Error("the connection was lost while the answer was on its way");
    };
    const catchUp = async () => {
      reads += 1;
      await own.catchUp();
    };
    const lost = { ...access, database: { ...database, ask }, keys: { catchUp } };
    await expect(deleteBiKey(lost, here.admin, key.id)).rejects.toThrow("lost");
    expect(reads).toBe(1);
    await own.catchUp();
    expect(own.byId(key.id)).toBeUndefined();
    await elsewhere();
  });

  it.each<[string, BiKeyPatch]>([
    ["its state", { state: "inactive" }],
    ["its expiry", { expiresAt: new Date(Date.UTC(2030, 0)) }],
    ["its addresses", { ipAllow: ["192.0.2.1"] }],
    ["its datasets", { datasets: ["*"] }],
    ["its rows", { rowLimit: 5 }],
    ["its time", { timeoutSeconds: 5 }],
    ["its connections", { maxConnections: 1 }],
  ])("tells every replica when %s changes", async (_, fields) => {
    const { key } = await create();
    await elsewhere();
    await updateBiKey(access, here.admin, { id: key.id, fields });
    await elsewhere();
    expect(changes).toEqual([[key.id]]);
  });

  it("tells every replica of a rotation, and the old secret opens nothing", async () => {
    const { key, text } = await create();
    await elsewhere();
    const rotated = await rotateBiKey(access, here.admin, key.id);
    await elsewhere();
    expect(changes).toEqual([[key.id]]);
    for (const keys of [own, other]) {
      expect(await isUsable(keys, rotated.text)).toBe(true);
      expect(await keys.find(text)).toBeUndefined();
    }
  });

  it("tells every replica of a deletion", async () => {
    const { key, text } = await create();
    await elsewhere();
    await deleteBiKey(access, here.admin, key.id);
    await elsewhere();
    expect(changes).toEqual([[key.id]]);
    expect(other.byId(key.id)).toBeUndefined();
    expect(await other.find(text)).toBeUndefined();
  });

  it("does not end connections for a new name, a use, or another key", async () => {
    const { key, text } = await create();
    await elsewhere();
    await updateBiKey(access, here.admin, { id: key.id, fields: { name: "renamed" } });
    await create();
    await elsewhere();
    expect(changes).toEqual([]);
    expect((await other.find(text))?.name).toBe("renamed");
  });

  it("stops working with its owner's role or state, and works again with them", async () => {
    const password = "a password of the owner";
    const id = await addUser(here, "owner", password, "admin");
    const { key, text } = await create({}, await here.actorFor("owner", password));
    await elsewhere();
    for (const [away, back] of [
      [{ role: "user" }, { role: "admin" }],
      [{ state: "disabled" }, { state: "active" }],
    ] as const) {
      for (const [change, works] of [
        [away, false],
        [back, true],
      ] as const) {
        await updateUser(access, here.admin, id, change);
        await elsewhere();
        expect(changes.splice(0)).toEqual([[key.id]]);
        expect([await isUsable(own, text), await isUsable(other, text)]).toEqual([works, works]);
      }
    }
    await deleteUser(access, here.admin, id);
    await elsewhere();
    expect(changes).toEqual([[key.id]]);
    expect([await own.find(text), await other.find(text)]).toEqual([undefined, undefined]);
  });

  it("has its last use written, the latest of all replicas, which is no change", async () => {
    const { key } = await create();
    await elsewhere();
    const { database } = here;
    const open = () => openBiKeys({ database, hashBiKey: access.hashBiKey, log });
    const [first, second] = [await open(), await open()];
    first.noteUse(key.id, here.world.now + 5_000);
    second.noteUse(key.id, here.world.now + 2_000);
    await first.close();
    await second.close();
    const [row] = await database.db.select().from(biKeys).where(eq(biKeys.id, key.id));
    expect(row?.lastUsedAt).toEqual(new Date(here.world.now + 5_000));
    await elsewhere();
    expect(changes).toEqual([]);
  });

  it("stays as it was read while the database does not answer", async () => {
    const { text } = await create();
    await elsewhere();
    await here.database.db.execute(sql`alter table change_counters rename to elsewhere`);
    try {
      await elsewhere();
      expect(await isUsable(other, text)).toBe(true);
    } finally {
      await here.database.db.execute(sql`alter table elsewhere rename to change_counters`);
    }
    await elsewhere();
    expect(changes).toEqual([]);
  });
});
