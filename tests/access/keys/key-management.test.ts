import { desc, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Actor } from "../../../src/access/actor.ts";
import { createAuthenticate } from "../../../src/access/authenticate.ts";
import type { ApiKeyPatch, IssuedApiKey } from "../../../src/access/keys/api-key-record.ts";
import { findApiKey } from "../../../src/access/keys/api-key-record.ts";
import {
  deleteApiKey,
  rotateApiKey,
  updateApiKey,
} from "../../../src/access/keys/change-api-key.ts";
import { createApiKey } from "../../../src/access/keys/create-api-key.ts";
import { issueApiKey } from "../../../src/access/keys/issue-api-key.ts";
import { listApiKeys } from "../../../src/access/keys/list-api-keys.ts";
import { readKeyUsage } from "../../../src/access/keys/read-key-usage.ts";
import { deleteUser } from "../../../src/access/users/delete-user.ts";
import { updateUser } from "../../../src/access/users/update-user.ts";
import type { KeyCaller } from "../../../src/core/callers/caller.ts";
import { withTransaction } from "../../../src/db/context.ts";
import { apiKeys } from "../../../src/db/tables/api-keys.ts";
import { auditLog } from "../../../src/db/tables/audit-log.ts";
import { usageHours } from "../../../src/db/tables/usage.ts";
import {
  addUser,
  openUserAccess,
  type TestUserAccess,
} from "../../support/stages/access/user-access.ts";

const NONE = { find: () => undefined, noteUse: () => undefined };

const PASSWORD = "a password, and no better one";
const NOT_FOUND = expect.objectContaining({ code: "not_found", status: 404 });
const NOT_PERMITTED = expect.objectContaining({ code: "insufficient_permission", status: 403 });
const INVALID = expect.objectContaining({ code: "invalid_api_key", status: 401 });

let here: TestUserAccess;
let ada: Actor;
let adaId: string;

beforeAll(async () => {
  here = await openUserAccess();
  adaId = await addUser(here, "ada", PASSWORD);
  ada = await here.actorFor("ada", PASSWORD);
  await here.database.db.execute(sql`
    insert into assistants (id, name_key, slug, visibility, change_seq)
    select id, id, 'slug of ' || id, 'everyone', 1 from unnest(array['asst_1', 'asst_2']) as id`);
});

afterAll(() => here.close());

const issue = (
  actor: Actor,
  { name = "a key", ...fields }: ApiKeyPatch = {},
  ownerId?: string,
): Promise<IssuedApiKey> =>
  issueApiKey(here.access, actor, { fields: { ...fields, name }, ownerId });

/** Lets a key in, as a call does, at one replica or at another. */
function letIn(text: string, { keys = here.keys, address = "192.0.2.1" } = {}) {
  const authenticate = createAuthenticate({
    keys,
    sessions: here.sessions,
    tokens: NONE,
    biKeys: NONE,
  });
  const headers = new Headers({ authorization: `Bearer ${text}` });
  const credentials = { method: "POST", headers, address: () => address, now: here.world.now };
  return (async () => (await authenticate("caller", credentials)) as KeyCaller)();
}

/** Whoever holds the key, as an actor. */
async function actingWith(text: string): Promise<Actor> {
  return { caller: await letIn(text), address: "192.0.2.1", requestId: "req_test" };
}

async function lastEntry(targetId: string) {
  const [entry] = await here.database.db
    .select()
    .from(auditLog)
    .where(eq(auditLog.targetId, targetId))
    .orderBy(desc(auditLog.id))
    .limit(1);
  return entry;
}

const soon = { timeout: 20_000, interval: 20 };

describe("4.5 an issued key", () => {
  it("works for the next call, and its secret is stored as a hash alone", async () => {
    const { key, text } = await issue(ada);
    expect(text).toMatch(/^sk-[0-9A-Za-z]{43}$/);
    expect(key).toMatchObject({
      id: expect.stringMatching(/^key_[0-9A-Za-z]{22}$/),
      name: "a key",
      ownerId: adaId,
      lastFour: text.slice(-4),
      state: "active",
      maxLevel: "read_only",
      createdAt: new Date(here.world.now),
    });
    expect(await letIn(text)).toMatchObject({ keyId: key.id, role: "user", isRestricted: false });
    const [row] = await here.database.db.select().from(apiKeys).where(eq(apiKeys.id, key.id));
    expect(row?.keyHash).toBe(here.access.hashApiKey(text));
    expect(JSON.stringify(row)).not.toContain(text.slice(0, -4));
  });

  it("is made for others by administrators alone, and for users who exist", async () => {
    const { key, text } = await issue(here.admin, {}, adaId);
    expect(key.ownerId).toBe(adaId);
    expect(await letIn(text)).toMatchObject({ role: "user" });
    expect((await issue(ada, {}, adaId)).key.ownerId).toBe(adaId);
    await expect(issue(ada, {}, here.admin.caller.ownerId)).rejects.toEqual(NOT_PERMITTED);
    const unknown = expect.objectContaining({ code: "not_found", param: "owner_id" });
    await expect(issue(here.admin, {}, "usr_unknown")).rejects.toEqual(unknown);
  });

  it("is one of a thousand of its owner at most, however many are asked for at once", async () => {
    const { db } = here.database;
    const id = await addUser(here, "collector", PASSWORD);
    const collector = await here.actorFor("collector", PASSWORD);
    const fill = (ownerId: string, keys: number) =>
      db.execute(sql`
        insert into api_keys (id, name, key_hash, last_four, owner_id, change_seq)
        select ${ownerId} || n, 'one', ${ownerId} || n, 'aaaa', ${ownerId}, 0
        from generate_series(1, ${keys}::int) n`);
    await fill(id, 998);
    const asked = await Promise.allSettled([1, 2, 3, 4].map(() => issue(collector)));
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    const tooMany = expect.objectContaining({
      code: "invalid_value",
      message: expect.stringMatching(/1,000 API keys; delete/),
    });
    await expect(issue(here.admin, {}, id)).rejects.toEqual(tooMany);
    await deleteApiKey(here.access, collector, `${id}1`);
    await issue(collector);
    await expect(issue(collector)).rejects.toEqual(tooMany);
    await fill(here.admin.caller.ownerId, 1_000);
    await issue(here.admin);
    await db.execute(sql`delete from api_keys where name = 'one'`);
  });

  it("stands in the audit log with what it may, and without its secret", async () => {
    const expiresAt = new Date(here.world.now + 1_000);
    const { key, text } = await issue(ada, { rpmLimit: 5, expiresAt, tokenLimit: null });
    const entry = await lastEntry(key.id);
    expect(entry).toMatchObject({
      action: "api_key.create",
      actorId: adaId,
      actorName: "ada",
      via: "session",
      targetKind: "api_key",
      details: {
        name: "a key",
        rpm_limit: 5,
        token_limit: null,
        expires_at: expiresAt.toISOString(),
        owner_id: adaId,
        last_four: text.slice(-4),
      },
    });
    expect(JSON.stringify(entry)).not.toContain(text.slice(0, -4));
  });
});

describe("4.5 who may do what with a key", () => {
  it("an administrator sees and changes all, by session or by an unrestricted key", async () => {
    const { key } = await issue(ada);
    const adminKey = await issue(here.admin);
    for (const actor of [here.admin, await actingWith(adminKey.text)]) {
      expect(await findApiKey(here.access, actor.caller, key.id)).toEqual(
        expect.objectContaining({ id: key.id }),
      );
      const fields = { name: `by ${actor.caller.kind}` };
      expect(await updateApiKey(here.access, actor, { id: key.id, fields })).toMatchObject(fields);
    }
    await deleteApiKey(here.access, here.admin, key.id);
    await expect(findApiKey(here.access, here.admin.caller, key.id)).rejects.toEqual(NOT_FOUND);
  });

  it("K12 a user reaches the own keys alone; another's are as unknown as any", async () => {
    const own = await issue(ada);
    const { key: foreign, text } = await issue(here.admin);
    for (const actor of [ada, await actingWith(own.text)]) {
      for (const id of [foreign.id, "key_unknown", "", own.key.name]) {
        const tries = [
          findApiKey(here.access, actor.caller, id),
          updateApiKey(here.access, actor, { id, fields: { state: "inactive" } }),
          rotateApiKey(here.access, actor, { id, overlapSeconds: 0 }),
          deleteApiKey(here.access, actor, id),
          readKeyUsage(usageParts, actor.caller, { id, days: 30 }),
        ];
        for (const tried of await Promise.allSettled(tries)) {
          expect(tried).toMatchObject({ status: "rejected", reason: NOT_FOUND });
        }
      }
      expect(await findApiKey(here.access, actor.caller, own.key.id)).toMatchObject({
        id: own.key.id,
      });
    }
    expect(await letIn(text)).toMatchObject({ keyId: foreign.id });
  });

  it.each<[string, ApiKeyPatch]>([
    ["a limit", { requestLimit: 1_000 }],
    ["an expiry", { expiresAt: new Date(Date.UTC(2030, 0)) }],
    ["an address list", { ipAllow: ["192.0.2.0/24"] }],
    ["an assistant", { assistantId: "asst_1" }],
  ])("a key with %s reads itself alone and changes nothing", async (_, fields) => {
    for (const owner of [ada, here.admin]) {
      const { key, text } = await issue(owner, fields);
      const sibling = await issue(owner);
      const actor = await actingWith(text);
      expect(actor.caller).toMatchObject({ isRestricted: true });
      expect(await findApiKey(here.access, actor.caller, key.id)).toMatchObject({ id: key.id });
      await expect(findApiKey(here.access, actor.caller, sibling.key.id)).rejects.toEqual(
        NOT_FOUND,
      );
      const page = { limit: 50, offset: 0 };
      expect(await listApiKeys(here.access, actor.caller, page)).toMatchObject({
        keys: [{ id: key.id }],
        total: 1,
      });
      for (const id of [key.id, sibling.key.id, "key_unknown"]) {
        await expect(
          updateApiKey(here.access, actor, { id, fields: { requestLimit: null } }),
        ).rejects.toEqual(NOT_PERMITTED);
        await expect(rotateApiKey(here.access, actor, { id, overlapSeconds: 0 })).rejects.toEqual(
          NOT_PERMITTED,
        );
        await expect(deleteApiKey(here.access, actor, id)).rejects.toEqual(NOT_PERMITTED);
      }
      await expect(issue(actor)).rejects.toEqual(NOT_PERMITTED);
    }
  });
});

describe("4.5 a key that gives rights to keys", () => {
  const low = { maxLevel: "write", toolScope: { tools: ["a"], sql_connections: [] } } as const;
  const high = {
    passthrough: true,
    maxLevel: "full_auto",
    toolScope: { tools: ["a", "b"], sql_connections: ["c"] },
  } as const;
  const more: readonly [string, ApiKeyPatch][] = [
    ["passthrough", { passthrough: true }],
    ["max_level", { maxLevel: "full_auto" }],
    ["tool_scope", { toolScope: { tools: ["a", "b"], sql_connections: [] } }],
    ["tool_scope", { toolScope: { tools: ["a"], sql_connections: ["c"] } }],
  ];
  const change = (actor: Actor, { key: { id } }: IssuedApiKey, fields: ApiKeyPatch) =>
    updateApiKey(here.access, actor, { id, fields });

  it.each(more)(
    "has none beyond its own %s to give, to itself or to others",
    async (param, fields) => {
      const refused = expect.objectContaining({ code: "insufficient_permission", param });
      for (const owner of [ada, here.admin]) {
        const { ownerId } = owner.caller;
        const own = await issue(here.admin, low, ownerId);
        const other = await issue(owner, { toolScope: low.toolScope });
        const actor = await actingWith(own.text);
        await expect(change(actor, own, fields)).rejects.toEqual(refused);
        await expect(change(actor, other, fields)).rejects.toEqual(refused);
        await expect(issue(actor, fields)).rejects.toEqual(refused);
        const stronger = await issue(here.admin, fields, ownerId);
        const rotation = { id: stronger.key.id, overlapSeconds: 0 };
        await expect(rotateApiKey(here.access, actor, rotation)).rejects.toEqual(refused);
        expect(await letIn(stronger.text)).toMatchObject({ keyId: stronger.key.id });
        expect(await change(here.admin, own, fields)).toMatchObject(fields);
      }
    },
  );

  it("gives what it has, takes away what it has not, and rotates what has no more", async () => {
    const own = await issue(here.admin, low, adaId);
    const actor = await actingWith(own.text);
    const equal = await issue(actor, low);
    expect(equal.key).toMatchObject(low);
    expect((await issue(actor)).key).toMatchObject({ maxLevel: "read_only" });
    await rotateApiKey(here.access, actor, { id: equal.key.id, overlapSeconds: 0 });
    const stronger = await issue(here.admin, high, adaId);
    expect(await change(actor, stronger, { ...high, name: "as it is" })).toMatchObject(high);
    const toolScope = { tools: ["b"], sql_connections: [] };
    const lowered = { maxLevel: "write", passthrough: false, toolScope } as const;
    expect(await change(actor, stronger, lowered)).toMatchObject(lowered);
  });

  it("gives what it has at that moment", async () => {
    const own = await issue(here.admin, high, adaId);
    const actor = await actingWith(own.text);
    await change(ada, own, { maxLevel: "read_only" });
    await expect(issue(actor, { maxLevel: "write" })).rejects.toEqual(NOT_PERMITTED);
  });
});

describe("4.5 what an administrator set on a key", () => {
  const expiry = (day: number) => new Date(Date.UTC(2030, 0, day));
  const set: ApiKeyPatch = {
    ...{ monthlyTokenLimit: 1_000, requestLimit: 100, rpmLimit: 10, tokenLimit: 5_000 },
    ...{ maxLevel: "write", passthrough: false, assistantId: "asst_1", expiresAt: expiry(10) },
    toolScope: { tools: ["a", "b"], sql_connections: ["c"] },
    ipAllow: ["192.0.2.0/24", "fd00::/16"],
  };
  const raises: readonly [string, ApiKeyPatch][] = [
    ["monthly_token_limit", { monthlyTokenLimit: 1_001 }],
    ["monthly_token_limit", { monthlyTokenLimit: null }],
    ["request_limit", { requestLimit: null }],
    ["rpm_limit", { rpmLimit: 11 }],
    ["token_limit", { tokenLimit: null }],
    ["max_level", { maxLevel: "full_auto" }],
    ["passthrough", { passthrough: true }],
    ["assistant_id", { assistantId: null }],
    ["assistant_id", { assistantId: "asst_2" }],
    ["expires_at", { expiresAt: expiry(11) }],
    ["expires_at", { expiresAt: null }],
    ["tool_scope", { toolScope: { tools: ["a"], sql_connections: ["d"] } }],
    ["ip_allow", { ipAllow: [] }],
    ["ip_allow", { ipAllow: ["192.0.0.0/16"] }],
    ["ip_allow", { ipAllow: ["192.0.2.7", "::1"] }],
  ];
  const lower: ApiKeyPatch = {
    ...{ monthlyTokenLimit: 999, requestLimit: 0, rpmLimit: 1, tokenLimit: 4_000 },
    ...{ maxLevel: "read_only", expiresAt: expiry(1), state: "inactive" },
    toolScope: { tools: ["b"], sql_connections: [] },
    ipAllow: ["192.0.2.7", "192.0.2.128/25", "fd00:1::/32"],
  };
  const change = (actor: Actor, { key: { id } }: IssuedApiKey, fields: ApiKeyPatch) =>
    updateApiKey(here.access, actor, { id, fields });

  it("is lowered by its owner, and raised again no further than it was, under a new secret too", async () => {
    const { passthrough: _, ...later } = set;
    const plain = await issue(here.admin, {}, adaId);
    await change(here.admin, plain, later);
    const keys = [await issue(here.admin, set, adaId), plain];
    for (const key of keys) {
      expect(await change(ada, key, lower)).toMatchObject(lower);
      await rotateApiKey(here.access, ada, { id: key.key.id, overlapSeconds: 0 });
      for (const [param, fields] of raises) {
        const refused = expect.objectContaining({ code: "insufficient_permission", param });
        await expect(change(ada, key, fields), JSON.stringify(fields)).rejects.toEqual(refused);
      }
      expect(await change(ada, key, { ...set, state: "active" })).toMatchObject(set);
      const more = { rpmLimit: null, maxLevel: "full_auto" } as const;
      expect(await change(here.admin, key, more)).toMatchObject(more);
      expect(await change(ada, key, { rpmLimit: 3 })).toMatchObject({ rpmLimit: 3 });
      expect(await change(ada, key, more)).toMatchObject(more);
    }
  });

  it("binds the owner also where the administrator gives what the key has already", async () => {
    const key = await issue(ada, { rpmLimit: 5 });
    expect(await change(ada, key, { rpmLimit: 6 })).toMatchObject({ rpmLimit: 6 });
    await change(here.admin, key, { rpmLimit: 6, state: "inactive" });
    await expect(change(ada, key, { rpmLimit: 7 })).rejects.toEqual(NOT_PERMITTED);
    await expect(change(ada, key, { state: "active" })).rejects.toEqual(NOT_PERMITTED);
    expect(await change(ada, key, { name: "another name" })).toMatchObject({ rpmLimit: 6 });
  });

  it("is needed for a level above read_only, when a user makes a key and later", async () => {
    const key = await issue(ada, { passthrough: true, tokenLimit: 5 });
    const refused = expect.objectContaining({
      code: "insufficient_permission",
      param: "max_level",
    });
    for (const maxLevel of ["write", "full_auto"] as const) {
      await expect(issue(ada, { maxLevel })).rejects.toEqual(refused);
      await expect(change(ada, key, { maxLevel })).rejects.toEqual(refused);
    }
    const own = { tokenLimit: null, passthrough: false, ipAllow: ["192.0.2.1"] };
    expect(await change(ada, key, own)).toMatchObject(own);
    expect(await change(ada, key, { ipAllow: [], passthrough: true })).toMatchObject({
      ipAllow: [],
    });
  });
});

describe("4.5 the list of keys", () => {
  let bob: Actor;
  const names = async (actor: Actor, query: Partial<Parameters<typeof listApiKeys>[2]> = {}) => {
    const asked = { limit: 50, offset: 0, ...query };
    const { keys, total } = await listApiKeys(here.access, actor.caller, asked);
    return { names: keys.map(({ name }) => name), total };
  };

  beforeAll(async () => {
    const bobId = await addUser(here, "bob", PASSWORD);
    bob = await here.actorFor("bob", PASSWORD);
    for (const name of ["first 100%", "second a_b", "third \\"]) {
      here.world.now += 1_000;
      await issue(here.admin, { name }, bobId);
    }
    here.world.now += 1_000;
    await issue(bob, { name: "fourth", state: "inactive" });
  });

  it("is the newest first, in pages, with the number of all", async () => {
    expect(await names(bob)).toEqual({
      names: ["fourth", "third \\", "second a_b", "first 100%"],
      total: 4,
    });
    expect(await names(bob, { limit: 2, offset: 1 })).toEqual({
      names: ["third \\", "second a_b"],
      total: 4,
    });
    expect(await names(bob, { offset: 9 })).toEqual({ names: [], total: 4 });
  });

  it("is searched by name, id and last four characters, each taken as it stands", async () => {
    const search = (text: string) => names(bob, { search: text });
    expect(await search("FIRST")).toEqual({ names: ["first 100%"], total: 1 });
    expect(await search("%")).toEqual({ names: ["first 100%"], total: 1 });
    expect(await search("_")).toEqual({ names: ["second a_b"], total: 1 });
    expect(await search("\\")).toEqual({ names: ["third \\"], total: 1 });
    expect(await search("' or true --")).toEqual({ names: [], total: 0 });
    const { key } = await issue(bob, { name: "fifth" });
    expect(await search(key.id)).toMatchObject({ total: 1 });
    expect((await search(key.lastFour)).names).toContain("fifth");
    await deleteApiKey(here.access, bob, key.id);
  });

  it("is of one state, and of one owner for administrators", async () => {
    expect(await names(bob, { state: "inactive" })).toEqual({ names: ["fourth"], total: 1 });
    expect(await names(here.admin, { ownerId: bob.caller.ownerId })).toMatchObject({ total: 4 });
    expect((await names(here.admin)).total).toBeGreaterThan(4);
    expect(await names(bob, { ownerId: bob.caller.ownerId })).toMatchObject({ total: 4 });
    await expect(names(bob, { ownerId: adaId })).rejects.toEqual(NOT_PERMITTED);
  });

  it("holds nothing of a secret", async () => {
    const { text } = await issue(bob);
    const { keys } = await listApiKeys(here.access, bob.caller, { limit: 50, offset: 0 });
    const shown = JSON.stringify(keys);
    expect(shown).not.toContain(here.access.hashApiKey(text));
    expect(shown).not.toMatch(/hash/i);
  });
});

describe("4.5 a changed key", () => {
  it("takes what is given, keeps the rest, and says in the audit log what is new", async () => {
    const { key } = await issue(ada, { rpmLimit: 5, tokenLimit: 7, ipAllow: ["::1"] });
    const fields = { rpmLimit: null, tokenLimit: 7, ipAllow: [], name: undefined };
    const changed = await updateApiKey(here.access, ada, { id: key.id, fields });
    expect(changed).toMatchObject({ name: "a key", rpmLimit: null, tokenLimit: 7, ipAllow: [] });
    expect(await lastEntry(key.id)).toMatchObject({
      action: "api_key.update",
      details: { rpm_limit: null, ip_allow: [] },
    });
    expect((await lastEntry(key.id))?.details).not.toHaveProperty("token_limit");
  });

  it("is not changed by what it is already", async () => {
    const toolScope = { sql_connections: ["b"], tools: ["a"] };
    const { key } = await issue(ada, { toolScope });
    const again = { toolScope: { tools: ["a"], sql_connections: ["b"] }, name: "a key" };
    await updateApiKey(here.access, ada, { id: key.id, fields: again });
    expect(await lastEntry(key.id)).toMatchObject({ action: "api_key.create" });
  });

  it("K01 is refused by the next call here and within a second elsewhere, switched off or deleted", async () => {
    for (const revoke of [
      (id: string) => updateApiKey(here.access, ada, { id, fields: { state: "inactive" } }),
      (id: string) => deleteApiKey(here.access, ada, id),
      (id: string) => updateApiKey(here.access, ada, { id, fields: { ipAllow: ["198.51.100.7"] } }),
    ]) {
      const { key, text } = await issue(ada);
      const other = { keys: here.otherKeys };
      await expect.poll(() => isLetIn(text, other), soon).toBe(true);
      expect(await isLetIn(text)).toBe(true);
      await revoke(key.id);
      expect(await isLetIn(text)).toBe(false);
      await expect.poll(() => isLetIn(text, other), soon).toBe(false);
    }
  });

  it("K02 goes with its owner: refused while disabled, gone when deleted, as the owner's role is", async () => {
    const id = await addUser(here, "carol", PASSWORD, "admin");
    const { key, text } = await issue(here.admin, {}, id);
    const change = (fields: Parameters<typeof updateUser>[3]) =>
      updateUser(here.access, here.admin, id, fields);
    expect(await letIn(text)).toMatchObject({ role: "admin" });
    await change({ role: "user" });
    expect(await letIn(text)).toMatchObject({ role: "user" });
    await change({ state: "disabled" });
    await expect(letIn(text)).rejects.toEqual(INVALID);
    await change({ state: "active" });
    expect(await isLetIn(text)).toBe(true);
    await deleteUser(here.access, here.admin, id);
    await expect(letIn(text)).rejects.toEqual(INVALID);
    await expect.poll(() => isLetIn(text, { keys: here.otherKeys }), soon).toBe(false);
    await expect(findApiKey(here.access, here.admin.caller, key.id)).rejects.toEqual(NOT_FOUND);
  });
});

async function isLetIn(text: string, at: Parameters<typeof letIn>[1] = {}): Promise<boolean> {
  return letIn(text, at).then(
    () => true,
    () => false,
  );
}

describe("a rotated key", () => {
  const rotate = (id: string, overlapSeconds = 0) =>
    rotateApiKey(here.access, ada, { id, overlapSeconds });

  it("is the same key under a new secret, and the old one ends at once", async () => {
    const { key, text } = await issue(ada, { name: "rotated", rpmLimit: 9 });
    const rotated = await rotate(key.id);
    expect(rotated.text).toMatch(/^sk-[0-9A-Za-z]{43}$/);
    expect(rotated.text).not.toBe(text);
    expect(rotated.key).toEqual({ ...key, lastFour: rotated.text.slice(-4) });
    expect(await letIn(rotated.text)).toMatchObject({ keyId: key.id });
    await expect(letIn(text)).rejects.toEqual(INVALID);
    expect(await lastEntry(key.id)).toMatchObject({
      action: "api_key.rotate",
      details: { name: "rotated", overlap_seconds: 0, last_four: rotated.text.slice(-4) },
    });
  });

  it("lets the old secret in until the overlap is over, to the millisecond, here and elsewhere", async () => {
    const { key, text } = await issue(ada);
    const start = here.world.now;
    const { text: next } = await rotate(key.id, 60);
    const at = async (now: number, keys = here.keys) => {
      here.world.now = now;
      return [await isLetIn(text, { keys }), await isLetIn(next, { keys })];
    };
    expect(await at(start)).toEqual([true, true]);
    expect(await at(start + 59_999)).toEqual([true, true]);
    await expect.poll(() => at(start + 59_999, here.otherKeys), soon).toEqual([true, true]);
    expect(await at(start + 60_000)).toEqual([false, true]);
    expect(await at(start + 60_000, here.otherKeys)).toEqual([false, true]);
  });

  it("ends the secret before the last at once when it is rotated again", async () => {
    const { key, text: first } = await issue(ada);
    const { text: second } = await rotate(key.id, 3_600);
    const { text: third } = await rotate(key.id, 3_600);
    expect(await Promise.all([first, second, third].map((text) => isLetIn(text)))).toEqual([
      false,
      true,
      true,
    ]);
    const { text: fourth } = await rotate(key.id);
    expect(await Promise.all([second, third, fourth].map((text) => isLetIn(text)))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it("keeps all restrictions under both secrets, which end together", async () => {
    const { key, text: old } = await issue(ada, { ipAllow: ["10.0.0.0/8"], rpmLimit: 3 });
    const { text: next } = await rotate(key.id, 2_592_000);
    const inside = { address: "10.1.2.3" };
    for (const text of [old, next]) {
      await expect(letIn(text)).rejects.toMatchObject({ code: "ip_denied", status: 403 });
      expect(await letIn(text, inside)).toMatchObject({
        isRestricted: true,
        limits: { requestsPerMinute: 3 },
      });
    }
    const change = (fields: ApiKeyPatch) =>
      updateApiKey(here.access, ada, { id: key.id, fields: { ipAllow: [], ...fields } });
    const both = () => Promise.all([isLetIn(old), isLetIn(next)]);
    await change({ state: "inactive" });
    expect(await both()).toEqual([false, false]);
    await change({ state: "active" });
    expect(await both()).toEqual([true, true]);
    await change({ expiresAt: new Date(here.world.now + 10) });
    here.world.now += 10;
    expect(await both()).toEqual([false, false]);
    await change({ expiresAt: null });
    expect(await both()).toEqual([true, true]);
    await deleteApiKey(here.access, ada, key.id);
    expect(await both()).toEqual([false, false]);
  });

  it("does not come back by the setting that first made it", async () => {
    const { key, text } = await issue(ada);
    await rotate(key.id);
    const again = await withTransaction(here.database.db, (transaction) =>
      createApiKey(transaction, { name: "again", ownerId: adaId, text }, here.access.hashApiKey),
    );
    expect(again).toBeUndefined();
    await here.keys.catchUp();
    await expect(letIn(text)).rejects.toEqual(INVALID);
  });

  it("has one secret in the end when it is rotated many times at once", async () => {
    const { key } = await issue(ada);
    const rotated = await Promise.all(Array.from({ length: 5 }, () => rotate(key.id)));
    const isIn = await Promise.all(rotated.map(({ text }) => isLetIn(text)));
    expect(isIn.filter(Boolean)).toHaveLength(1);
  });
});

const usageParts = {
  get database() {
    return here.database;
  },
  get clock() {
    return here.access.clock;
  },
  limits: { read: async () => ({}) },
};

describe("4.5 the use of a key", () => {
  const NOW = Date.UTC(2026, 11, 24, 23, 30);
  const hour = (daysAgo: number, hours = 23) => new Date(Date.UTC(2026, 11, 24 - daysAgo, hours));
  const tokens = { inputTokens: 10, outputTokens: 3, cachedTokens: 4, reasoningTokens: 2 };
  let issued: IssuedApiKey;

  beforeAll(async () => {
    here.world.now = NOW;
    ada = await here.actorFor("ada", PASSWORD);
    issued = await issue(ada, { rpmLimit: 60 });
    const row = (at: Date, model: string, requests: number, channel = "chat" as const) => ({
      hour: at,
      keyId: issued.key.id,
      model,
      channel,
      requests,
      failures: 1,
      ...tokens,
    });
    await here.database.db
      .insert(usageHours)
      .values([
        row(hour(0), "large", 2),
        row(hour(0, 0), "large", 3),
        { ...row(hour(0, 0), "large", 1), channel: "messages" },
        row(hour(1), "small", 40),
        row(hour(29), "small", 5),
        row(hour(30), "large", 6),
        row(hour(399), "old", 7),
        row(hour(400), "older", 8),
        { ...row(hour(0), "large", 100), keyId: "key_of_somebody" },
      ]);
  });

  const use = async (days: number, actor: Actor = ada) =>
    readKeyUsage(usageParts, actor.caller, { id: issued.key.id, days });
  const sums = (rows: number, requests: number) => ({
    requests,
    failures: rows,
    inputTokens: rows * 10,
    outputTokens: rows * 3,
    cachedTokens: rows * 4,
    reasoningTokens: rows * 2,
  });

  it("is told over its life, by day of UTC and by model, for the days asked for", async () => {
    expect(await use(30)).toEqual({
      totals: sums(8, 72),
      byDay: [
        { date: "2026-11-25", ...sums(1, 5) },
        { date: "2026-12-23", ...sums(1, 40) },
        { date: "2026-12-24", ...sums(3, 6) },
      ],
      byModel: [
        { model: "small", ...sums(2, 45) },
        { model: "large", ...sums(3, 6) },
      ],
      limits: {},
    });
    expect(await use(1)).toMatchObject({
      totals: { requests: 72 },
      byDay: [{ date: "2026-12-24", requests: 6 }],
      byModel: [{ model: "large", requests: 6 }],
    });
    expect((await use(31)).byDay[0]).toMatchObject({ date: "2026-11-24", requests: 6 });
    expect((await use(400)).byModel.map(({ model }) => model)).toEqual(["small", "large", "old"]);
  });

  it("is nothing for a key that was never used", async () => {
    const { key } = await issue(ada);
    const unused = await readKeyUsage(usageParts, ada.caller, { id: key.id, days: 30 });
    expect(unused).toEqual({ totals: sums(0, 0), byDay: [], byModel: [], limits: {} });
  });

  it("is told to its owner alone, not to administrators, and to a restricted key of itself alone", async () => {
    const sibling = await issue(ada, { requestLimit: 5 });
    expect(await use(1, await actingWith((await issue(ada)).text))).toMatchObject({ limits: {} });
    expect(await use(1, await actingWith(issued.text))).toMatchObject({ limits: {} });
    await expect(use(1, here.admin)).rejects.toEqual(NOT_FOUND);
    await expect(use(1, await actingWith(sibling.text))).rejects.toEqual(NOT_FOUND);
  });

  it("asks for the key's limits as they are, at this moment", async () => {
    const asked: unknown[] = [];
    const limits = {
      read: async (...question: unknown[]) => {
        asked.push(question);
        return {};
      },
    };
    const { database, clock } = usageParts;
    const parts = { database, clock, limits };
    await readKeyUsage(parts, ada.caller, { id: issued.key.id, days: 1 });
    const limit = { monthlyTokens: null, requests: null, requestsPerMinute: 60, tokens: null };
    expect(asked).toEqual([[issued.key.id, limit, NOW]]);
  });

  it("is read without a look at single records", async () => {
    const { db } = here.database;
    await db.execute(sql`alter table usage_records rename to usage_records_elsewhere`);
    try {
      expect(await use(400)).toMatchObject({ totals: { requests: 72 } });
    } finally {
      await db.execute(sql`alter table usage_records_elsewhere rename to usage_records`);
    }
  });
});
