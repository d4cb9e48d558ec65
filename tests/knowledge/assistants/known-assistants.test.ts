import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createUser } from "../../../src/access/users/create-user.ts";
import { deleteUser } from "../../../src/access/users/delete-user.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { Database } from "../../../src/db/database.ts";
import {
  createAssistant,
  deleteAssistant,
  updateAssistant,
} from "../../../src/knowledge/assistants/change-assistant.ts";
import {
  type FollowedAssistants,
  followAssistants,
} from "../../../src/knowledge/assistants/known-assistants.ts";
import { createLog } from "../../../src/lib/log.ts";
import { openUserAccess, type TestUserAccess } from "../../support/stages/access/user-access.ts";

const lines: string[] = [];
const log = createLog("info", { write: (line) => void lines.push(line) });
const open: FollowedAssistants[] = [];
/** Within a second on a machine that does nothing else. */
const soon = { timeout: 20_000, interval: 20 };
let here: TestUserAccess;
let isAway = false;

beforeAll(async () => {
  here = await openUserAccess();
});
afterAll(() => here.close());
afterEach(async () => {
  for (const followed of open.splice(0)) followed.close();
  isAway = false;
  await here.database.db.execute(sql`truncate assistants`);
});

/** One replica of several, as on PostgreSQL, whatever the database: its view can be cut. */
async function replica() {
  const { db, askOwn } = here.database;
  const cut: Database["askOwn"] = (work) =>
    isAway ? Promise.reject(new ServiceError("storage_unavailable", "away")) : askOwn(work);
  const followed = await followAssistants({
    database: { db, askOwn: cut, kind: "postgres" },
    log,
  });
  open.push(followed);
  const { caller } = here.admin;
  const desk = {
    ...{ database: here.database, clock: here.access.clock, ...followed },
    models: { find: () => undefined, list: () => Promise.resolve([]) },
    isTool: () => false,
  };
  return { ...followed, desk, idOf: (name: string) => followed.known.find(name, caller)?.id };
}

describe("the assistants in memory", () => {
  it("have a change of this replica at once, and of another without being asked", async () => {
    const [one, other] = [await replica(), await replica()];
    const { id } = await createAssistant(one.desk, here.admin, { name: "Support" });
    expect(one.idOf("support")).toBe(id);
    await expect.poll(() => other.idOf("support"), soon).toBe(id);

    await updateAssistant(one.desk, here.admin, { id, patchOf: () => ({ name: "Help" }) });
    expect([one.idOf("Support"), one.idOf("help")]).toEqual([id, id]);
    // The slug is the first name's.
    const renamed = () => other.known.find(id, here.admin.caller)?.name;
    await expect.poll(renamed, soon).toBe("Help");

    await deleteAssistant(one.desk, here.admin, id);
    expect([id, "help", "support"].map(one.idOf)).toEqual([undefined, undefined, undefined]);
    await expect.poll(() => other.idOf(id), soon).toBeUndefined();
    expect(other.known.list(here.admin.caller)).toEqual([]);
  });

  it("have no owner any more as soon as the owner is deleted", async () => {
    const [one, other] = [await replica(), await replica()];
    const username = "an-owner";
    const added = await createUser(here.access, here.admin, { username, role: "user" });
    const owner = await here.actorFor(username, added.password ?? "");
    const { id } = await createAssistant(one.desk, owner, { name: "Left" });
    const ownerIn = ({ known }: FollowedAssistants) => known.find(id, here.admin.caller)?.ownerId;
    expect(ownerIn(one)).toBe(added.user.id);
    await expect.poll(() => ownerIn(other), soon).toBe(added.user.id);

    await deleteUser(here.access, here.admin, added.user.id, one.catchUp);
    expect(ownerIn(one)).toBeNull();
    await expect.poll(() => ownerIn(other), soon).toBeNull();
  });

  it("are all there after a start, more than one page of them, and no longer those deleted meanwhile", async () => {
    const first = await replica();
    const { id } = await createAssistant(first.desk, here.admin, { name: "kept" });
    const gone = await createAssistant(first.desk, here.admin, { name: "gone" });
    await here.database.db.execute(sql`
      insert into assistants (id, name_key, slug, change_seq)
      select 'asst_' || i, 'asst_' || i, 'slug ' || i, 1 from generate_series(1, 250) as i`);
    const second = await replica();
    expect(second.known.list(here.admin.caller)).toHaveLength(252);
    isAway = true;
    await deleteAssistant(first.desk, here.admin, gone.id);
    await second.catchUp();
    expect(second.idOf("gone")).toBe(gone.id);
    isAway = false;
    await second.catchUp();
    expect([second.idOf("gone"), second.idOf("kept")]).toEqual([undefined, id]);
  });

  it("are counted by who may use them", async () => {
    const one = await replica();
    const counts = () => one.metrics.flatMap(({ read }) => read()).map(({ value }) => value);
    expect(counts()).toEqual([0, 0]);
    await createAssistant(one.desk, here.admin, { name: "Support" });
    const { id } = await createAssistant(one.desk, here.admin, {
      name: "Sales",
      visibility: "everyone",
    });
    expect(counts()).toEqual([1, 1]);
    await deleteAssistant(one.desk, here.admin, id);
    expect(counts()).toEqual([1, 0]);
  });

  it("stay in use while the database is away, which is logged once, and go on after it", async () => {
    const one = await replica();
    const { id } = await createAssistant(one.desk, here.admin, { name: "Support" });
    lines.length = 0;
    isAway = true;
    await one.catchUp();
    await one.catchUp();
    expect(one.idOf("support")).toBe(id);
    isAway = false;
    await one.catchUp();
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      "assistants cannot be read from the database; those last read stay in use",
      "assistants are read from the database again",
    ]);
  });

  it("are those of the database again after it was restored to an earlier state", async () => {
    const one = await replica();
    await createAssistant(one.desk, here.admin, { name: "later" });
    await here.database.db.execute(sql`delete from assistants`);
    await here.database.db.execute(
      sql`insert into assistants (id, name_key, slug, change_seq) values ('asst_old', 'asst_old', 'old', 1)`,
    );
    await here.database.db.execute(
      sql`update change_counters set seq = seq - 1 where name = 'assistants'`,
    );
    await one.catchUp();
    expect([one.idOf("later"), one.idOf("asst_old")]).toEqual([undefined, "asst_old"]);
  });

  it("take a name that moves from one assistant to another, in whatever order it is read", async () => {
    const [one, other] = [await replica(), await replica()];
    isAway = true;
    const ids = [];
    for (const name of ["a", "b"]) {
      ids.push((await createAssistant(one.desk, here.admin, { name, description: name })).id);
    }
    const [a = "", b = ""] = ids;
    for (const [id, name] of [
      [a, "c"],
      [b, "a"],
      [a, "b"],
    ] as const) {
      // The slug keeps the first name, so the names are free only with another slug.
      await here.database.db.execute(sql`update assistants set slug = id where id = ${id}`);
      await updateAssistant(one.desk, here.admin, { id, patchOf: () => ({ name }) });
    }
    isAway = false;
    for (const { catchUp, idOf } of [one, other]) {
      await catchUp();
      expect([idOf("a"), idOf("b"), idOf("c")]).toEqual([b, a, undefined]);
    }
  });
});
