import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { Database } from "../../../src/db/database.ts";
import { createLog } from "../../../src/lib/log.ts";
import { createSecretBox } from "../../../src/lib/secret-box.ts";
import {
  createConnection,
  deleteConnection,
  updateConnection,
} from "../../../src/tools/connections/change-connection.ts";
import {
  type FollowedConnections,
  followConnections,
} from "../../../src/tools/connections/known-connections.ts";
import { openUserAccess, type TestUserAccess } from "../../support/stages/access/user-access.ts";

const lines: string[] = [];
const log = createLog("info", { write: (line) => void lines.push(line) });
const open: FollowedConnections[] = [];
const soon = { timeout: 20_000, interval: 20 };
const SERVER = { kind: "postgres", host: "db.test", database: "d", user: "u" } as const;
let here: TestUserAccess;
let isAway = false;

beforeAll(async () => {
  here = await openUserAccess();
});
afterAll(() => here.close());
afterEach(async () => {
  for (const followed of open.splice(0)) followed.close();
  isAway = false;
  await here.database.db.execute(sql`truncate connections`);
});

/** One replica of several, as on PostgreSQL, whatever the database: its view can be cut. */
async function replica() {
  const { db, askOwn } = here.database;
  const cut: Database["askOwn"] = (work) =>
    isAway ? Promise.reject(new ServiceError("storage_unavailable", "away")) : askOwn(work);
  const changed: string[] = [];
  const followed = await followConnections({
    database: { db, askOwn: cut, kind: "postgres" },
    log,
    onChange: (id) => void changed.push(id),
  });
  open.push(followed);
  const desk = {
    database: here.database,
    clock: here.access.clock,
    secretBox: createSecretBox(Buffer.alloc(32, 1)),
    fileConnections: { find: () => undefined },
    catchUp: followed.catchUp,
  };
  return { ...followed, desk, changed };
}

it("has a change of this replica at once, and of another without being asked", async () => {
  const [one, other] = [await replica(), await replica()];
  const { id } = await createConnection(one.desk, here.admin, { name: "CRM", ...SERVER });
  expect(one.find(" crm ")).toMatchObject({ id, name: "CRM", port: 5432, tls: "verify" });
  await expect.poll(() => other.find("CRM")?.id, soon).toBe(id);
  expect(other.changed).toEqual([]);

  const change = { id, given: { name: "Sales", password: "canary" } };
  await updateConnection(one.desk, here.admin, change);
  expect([one.find("crm"), one.find("sales")?.id]).toEqual([undefined, id]);
  expect(one.changed).toEqual([id]);
  await expect.poll(() => other.changed, soon).toEqual([id]);
  expect(JSON.stringify(other.list())).not.toMatch(/canary|v1\./);

  await deleteConnection(one.desk, here.admin, id);
  expect(one.list()).toEqual([]);
  expect(one.changed).toEqual([id, id]);
  await expect.poll(() => other.list(), soon).toEqual([]);
  expect(other.row(id)).toBeUndefined();
});

it("keeps those in memory while the database is away, and says so once", async () => {
  const one = await replica();
  await createConnection(one.desk, here.admin, { name: "kept", ...SERVER });
  isAway = true;
  await one.catchUp();
  await one.catchUp();
  expect(one.find("kept")).toBeDefined();
  expect(lines.filter((line) => line.includes("cannot be read"))).toHaveLength(1);
  isAway = false;
  await one.catchUp();
  expect(lines.filter((line) => line.includes("read from the database again"))).toHaveLength(1);
});

it("counts them by kind", async () => {
  const one = await replica();
  await createConnection(one.desk, here.admin, { name: "a", ...SERVER });
  await createConnection(one.desk, here.admin, { name: "b", ...SERVER });
  await createConnection(one.desk, here.admin, { name: "c", ...SERVER, kind: "mysql" });
  const [metric] = one.metrics;
  expect(metric?.read().map(({ labels, value }) => [labels["kind"], value])).toEqual([
    ["postgres", 2],
    ["mysql", 1],
    ["sqlite", 0],
  ]);
});

it("seals each password for its own record", async () => {
  const one = await replica();
  const rows = [];
  for (const name of ["a", "b"]) {
    const fields = { name, ...SERVER, password: "canary" };
    rows.push(await createConnection(one.desk, here.admin, fields));
  }
  const [first, second] = rows;
  expect(first?.sealedPassword).toMatch(/^v1\./);
  expect(first?.sealedPassword).not.toContain("canary");
  const { secretBox } = one.desk;
  expect(secretBox.open(first?.sealedPassword ?? "", first?.id ?? "")).toBe("canary");
  expect(secretBox.open(first?.sealedPassword ?? "", second?.id ?? "")).toBeUndefined();
});
