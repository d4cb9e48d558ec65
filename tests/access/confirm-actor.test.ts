import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Actor } from "../../src/access/actor.ts";
import {
  BI_KEY_LIMITS,
  createBiKey,
  deleteBiKey,
  rotateBiKey,
  updateBiKey,
} from "../../src/access/bi-keys/bi-keys.ts";
import { deleteApiKey, rotateApiKey, updateApiKey } from "../../src/access/keys/change-api-key.ts";
import { issueApiKey } from "../../src/access/keys/issue-api-key.ts";
import { logout } from "../../src/access/sessions/logout.ts";
import { createUser } from "../../src/access/users/create-user.ts";
import { deleteUser } from "../../src/access/users/delete-user.ts";
import { updateUser } from "../../src/access/users/update-user.ts";
import { apiKeys } from "../../src/db/tables/api-keys.ts";
import { auditLog } from "../../src/db/tables/audit-log.ts";
import {
  addUser,
  openUserAccess,
  type TestUserAccess,
} from "../support/stages/access/user-access.ts";

const PASSWORD = "a password, and no better one";
const OVER = { code: "session_expired", status: 401 };
const UNUSABLE = { code: "invalid_api_key", status: 401 };
const CHANGED = { code: "insufficient_permission", status: 403 };

let here: TestUserAccess;
let places = 0;
let eve: { readonly id: string; readonly session: Actor; readonly key: Actor };
let victim: { readonly id: string; readonly keyId: string; readonly biKeyId: string };

beforeAll(async () => {
  here = await openUserAccess();
  const id = await addUser(here, "victim", PASSWORD);
  const fields = { name: "a key" };
  const { key } = await issueApiKey(here.access, here.admin, { fields, ownerId: id });
  const biKey = {
    ...BI_KEY_LIMITS,
    ...{ name: "a report", datasets: [], ipAllow: [], expiresAt: null },
  };
  const issued = await createBiKey(here.access, here.admin, biKey);
  victim = { id, keyId: key.id, biKeyId: issued.key.id };
});

/** An administrator whose session and key were let in a moment ago. */
beforeEach(async () => {
  const name = `eve-${++places}`;
  const id = await addUser(here, name, PASSWORD, "admin");
  const key = await here.keys.find(await here.createKey(id), here.world.now);
  if (key === undefined) throw new Error("the key is not there");
  eve = {
    id,
    session: await here.actorFor(name, PASSWORD),
    key: { caller: key.caller, address: "192.0.2.1", requestId: "req_test" },
  };
});

afterAll(() => here.close());

const changes: readonly [string, (actor: Actor) => Promise<unknown>][] = [
  ["make a user", (actor) => createUser(here.access, actor, { username: `made-${places}` })],
  ["change a user", (actor) => updateUser(here.access, actor, victim.id, { password: PASSWORD })],
  ["delete a user", (actor) => deleteUser(here.access, actor, victim.id)],
  [
    "issue a key",
    (actor) => issueApiKey(here.access, actor, { fields: { name: "a key" }, ownerId: victim.id }),
  ],
  [
    "change a key",
    (actor) =>
      updateApiKey(here.access, actor, { id: victim.keyId, fields: { name: `key ${places}` } }),
  ],
  [
    "rotate a key",
    (actor) => rotateApiKey(here.access, actor, { id: victim.keyId, overlapSeconds: 0 }),
  ],
  ["delete a key", (actor) => deleteApiKey(here.access, actor, victim.keyId)],
  [
    "issue a BI key",
    (actor) =>
      createBiKey(here.access, actor, {
        ...BI_KEY_LIMITS,
        ...{ name: "r", datasets: [], ipAllow: [], expiresAt: null },
      }),
  ],
  [
    "change a BI key",
    (actor) => updateBiKey(here.access, actor, { id: victim.biKeyId, fields: { name: "r" } }),
  ],
  ["rotate a BI key", (actor) => rotateBiKey(here.access, actor, victim.biKeyId)],
  ["delete a BI key", (actor) => deleteBiKey(here.access, actor, victim.biKeyId)],
];

const entries = async () => (await here.database.db.select().from(auditLog)).length;

describe.each(changes)("whose request to %s is still under way", (_, change) => {
  it("is refused once the session is over", async () => {
    await logout(here.access, eve.session as never);
    const before = await entries();
    await expect(change(eve.session)).rejects.toMatchObject(OVER);
    expect(await entries()).toBe(before);
  });

  it("is refused once disabled, by session and by key", async () => {
    await updateUser(here.access, here.admin, eve.id, { state: "disabled" });
    await expect(change(eve.session)).rejects.toMatchObject(OVER);
    await expect(change(eve.key)).rejects.toMatchObject(UNUSABLE);
  });

  it("is refused once deleted, by session and by key", async () => {
    await deleteUser(here.access, here.admin, eve.id);
    await expect(change(eve.session)).rejects.toMatchObject(OVER);
    await expect(change(eve.key)).rejects.toMatchObject(UNUSABLE);
  });

  it("is refused once no administrator any more, by session and by key", async () => {
    await updateUser(here.access, here.admin, eve.id, { role: "user" });
    await expect(change(eve.session)).rejects.toMatchObject(CHANGED);
    await expect(change(eve.key)).rejects.toMatchObject(CHANGED);
  });

  it("is refused once the key is restricted, expired or switched off", async () => {
    const { caller } = eve.key;
    if (caller.kind !== "key") throw new Error("no key");
    const set = (fields: Partial<typeof apiKeys.$inferInsert>) =>
      here.database.db.update(apiKeys).set(fields).where(eq(apiKeys.id, caller.keyId));
    await set({ rpmLimit: 1 });
    await expect(change(eve.key)).rejects.toMatchObject(CHANGED);
    await set({ rpmLimit: null, expiresAt: new Date(here.world.now) });
    await expect(change(eve.key)).rejects.toMatchObject(UNUSABLE);
    await set({ expiresAt: null, state: "inactive" });
    await expect(change(eve.key)).rejects.toMatchObject(UNUSABLE);
  });
});
