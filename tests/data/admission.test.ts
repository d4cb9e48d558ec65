import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  BI_KEY_LIMITS,
  type BiKeyFields,
  createBiKey,
  deleteBiKey,
  updateBiKey,
} from "../../src/access/bi-keys/bi-keys.ts";
import { type KnownBiKeys, openBiKeys } from "../../src/access/bi-keys/known/known-bi-keys.ts";
import type { SessionCaller } from "../../src/core/callers/caller.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import { type Admissions, createAdmission } from "../../src/data/admission.ts";
import type { Admission, Principal } from "../../src/data/principal.ts";
import type { SchemaView as View } from "../../src/data/views/data-view.ts";
import { createLog } from "../../src/lib/log.ts";
import { openUserAccess, type TestUserAccess } from "../support/stages/access/user-access.ts";

const ADDRESS = "192.0.2.1";
const UNKNOWN = `bk-${"0".repeat(43)}`;

let here: TestUserAccess;
let biKeys: KnownBiKeys;
let admissions: Admissions;
const lines: string[] = [];
const world = {
  views: [] as View[],
  listed: 0,
  isLicensed: true,
  /** What the roles do for a principal. */
  rolesLogin: async (_: Principal): Promise<{ url: string } | null> => null,
};

beforeAll(async () => {
  here = await openUserAccess();
  const log = createLog("debug", { write: (line) => void lines.push(line) });
  const { hashBiKey, clock } = here.access;
  biKeys = await openBiKeys({ database: here.database, hashBiKey, log });
  admissions = createAdmission({
    ...{ biKeys, clock, log },
    isLicensed: () => world.isLicensed,
    rolesLogin: (principal) => world.rolesLogin(principal),
    async listViews() {
      world.listed += 1;
      return world.views;
    },
  });
});
afterAll(async () => {
  await biKeys.close();
  await here.close();
});
beforeEach(() => {
  world.views = [
    view("usage_by_day"),
    view("orders", { ownerId: "usr_owner", visibility: "private" }),
    view("shared", { ownerId: "usr_owner", visibility: "everyone" }),
  ];
  world.isLicensed = true;
  world.rolesLogin = async ({ id }) => ({ url: `postgresql://${id}@localhost/data` });
  admissions.viewsChanged();
});

function view(
  name: string,
  dataset?: Pick<NonNullable<View["dataset"]>, "ownerId" | "visibility">,
) {
  const stored = { id: "ds_1", tableName: "t", version: 1, rows: 0, updatedAt: 0 };
  const whole = dataset === undefined ? null : { ...stored, ...dataset };
  return { name, comment: null, columns: [], key: [], dataset: whole } satisfies View;
}

async function issue(fields: Partial<BiKeyFields> = {}) {
  const defaults = { name: "a report", datasets: ["orders"], ipAllow: [], expiresAt: null };
  const all = { ...defaults, ...BI_KEY_LIMITS, ...fields };
  const issued = await createBiKey(here.access, here.admin, all);
  await biKeys.catchUp();
  return issued;
}

const session = (fields: Partial<SessionCaller>): SessionCaller => ({
  ...{ kind: "session", sessionId: "s", ownerId: "usr_1", username: "ada", role: "user" },
  ...{ mustChangePassword: false, passthrough: false },
  ...fields,
});

async function viewsOf(caller: Parameters<Admissions["ofCaller"]>[0]) {
  return admitted(await admissions.ofCaller(caller)).views;
}

function admitted(admission: Admission): Principal {
  if (admission.refusal === undefined) return admission.principal;
  throw new Error(admission.refusal.message);
}

describe("the admission of a BI key at the port", () => {
  it("names who reads, what, within which limits, and with which login", async () => {
    const expiresAt = new Date(here.world.now + 60_000);
    const limits = { rowLimit: 5, timeoutSeconds: 6, maxConnections: 7 };
    const { key, text } = await issue({ expiresAt, ...limits });
    expect(await admissions.byKey(text, ADDRESS)).toEqual({
      principal: {
        ...{ id: key.id, name: "a report", views: ["orders"], expiresAt: expiresAt.getTime() },
        ...limits,
      },
      login: { url: `postgresql://${key.id}@localhost/data` },
    });
  });

  it("has the views of the key that exist, and with * all, those that came later too", async () => {
    const named = await issue({ datasets: ["usage_by_day", "gone"] });
    const all = await issue({ datasets: ["*"] });
    const none = await issue({ datasets: [] });
    const views = async ({ text }: typeof named) =>
      admitted(await admissions.byKey(text, ADDRESS)).views;
    expect(await views(named)).toEqual(["usage_by_day"]);
    expect(await views(all)).toEqual(["usage_by_day", "orders", "shared"]);
    expect(await views(none)).toEqual([]);
    world.views = [...world.views, view("gone")];
    admissions.viewsChanged();
    expect(await views(named)).toEqual(["usage_by_day", "gone"]);
    expect(await views(all)).toEqual(["usage_by_day", "orders", "shared", "gone"]);
  });

  it("is refused by one text for a secret that is none, unknown, inactive, expired or deleted", async () => {
    const inactive = await issue({});
    const fields = { state: "inactive" } as const;
    await updateBiKey(here.access, here.admin, { id: inactive.key.id, fields });
    const expired = await issue({ expiresAt: new Date(here.world.now) });
    const deleted = await issue();
    await deleteBiKey(here.access, here.admin, deleted.key.id);
    await biKeys.catchUp();
    const texts = new Set<string>();
    for (const secret of [
      ...["", "x", "sk-0123456789abcdefghijklmnop", `${UNKNOWN}0`, UNKNOWN, " ".repeat(100_000)],
      ...[inactive.text, expired.text, deleted.text],
    ]) {
      const { refusal } = await admissions.byKey(secret, ADDRESS);
      expect(refusal?.code).toBe("28P01");
      texts.add(JSON.stringify(refusal));
    }
    expect(texts.size).toBe(1);
  });

  it("is refused from another address, and once the license is over", async () => {
    const { text } = await issue({ ipAllow: ["198.51.100.0/24"] });
    expect((await admissions.byKey(text, ADDRESS)).refusal?.code).toBe("28000");
    for (const address of ["198.51.100.7", "::ffff:198.51.100.7"]) {
      expect((await admissions.byKey(text, address)).refusal).toBeUndefined();
    }
    world.isLicensed = false;
    expect((await admissions.byKey(text, "198.51.100.7")).refusal).toMatchObject({
      ...{ code: "28000", message: expect.stringContaining("license") },
    });
    expect((await admissions.byKey(UNKNOWN, ADDRESS)).refusal?.code).toBe("28P01");
  });

  it("passes on nothing that the key lost while the admission was decided", async () => {
    const { key, text } = await issue();
    world.rolesLogin = async () => {
      await updateBiKey(here.access, here.admin, { id: key.id, fields: { datasets: [] } });
      await biKeys.catchUp();
      return null;
    };
    expect((await admissions.byKey(text, ADDRESS)).refusal?.code).toBe("58000");
  });

  it("says why there is no login, where that is for clients, and else leaves the cause to the log", async () => {
    const { text } = await issue();
    world.rolesLogin = async () => {
      throw new ServiceError("storage_unavailable", "Grant CREATEROLE.");
    };
    expect((await admissions.byKey(text, ADDRESS)).refusal).toEqual({
      ...{ code: "58000", message: "Grant CREATEROLE." },
    });
    world.rolesLogin = async () => {
      throw new Error("a defect");
    };
    const { refusal } = await admissions.byKey(text, ADDRESS);
    expect(refusal?.code).toBe("58000");
    expect(JSON.stringify(refusal)).not.toContain("defect");
    expect(lines.join("")).toContain("a defect");
    expect(lines.join("")).not.toContain(text);
  });
});

describe("the admission of a caller over HTTP", () => {
  it("gives an administrator all views, and a user the datasets that the user may see", async () => {
    expect(await viewsOf(session({ role: "admin" }))).toEqual(["usage_by_day", "orders", "shared"]);
    expect(await viewsOf(session({}))).toEqual(["shared"]);
    expect(await viewsOf(session({ ownerId: "usr_owner" }))).toEqual(["orders", "shared"]);
    expect(admitted(await admissions.ofCaller(session({})))).toMatchObject({
      ...{ id: "usr_1", name: "ada", expiresAt: null, ...BI_KEY_LIMITS },
    });
  });

  it("gives a BI key what it gets at the port, and nothing once it is gone", async () => {
    const { key, text } = await issue();
    const caller = biKeys.byId(key.id)?.caller;
    if (caller === undefined) throw new Error("the key is not known");
    expect(await admissions.ofCaller(caller)).toEqual(await admissions.byKey(text, ADDRESS));
    await deleteBiKey(here.access, here.admin, key.id);
    await biKeys.catchUp();
    expect((await admissions.ofCaller(caller)).refusal?.code).toBe("28P01");
  });

  it("refuses everybody once the license is over", async () => {
    world.isLicensed = false;
    const { refusal } = await admissions.ofCaller(session({ role: "admin" }));
    expect(refusal?.code).toBe("28000");
  });

  it("lists the views once a second, and again at once when they changed here or could not be listed", async () => {
    const { world: time } = here;
    const before = world.listed;
    await Promise.all([1, 2, 3].map(() => viewsOf(session({}))));
    expect(world.listed - before).toBe(1);
    time.now += 999;
    await viewsOf(session({}));
    expect(world.listed - before).toBe(1);
    time.now += 1;
    await viewsOf(session({}));
    expect(world.listed - before).toBe(2);
    admissions.viewsChanged();
    await viewsOf(session({}));
    expect(world.listed - before).toBe(3);
    const { views } = world;
    admissions.viewsChanged();
    Object.defineProperty(world, "views", {
      configurable: true,
      get: () => {
        throw new ServiceError("storage_unavailable", "The database is not reachable.");
      },
    });
    await expect(viewsOf(session({}))).rejects.toMatchObject({ code: "storage_unavailable" });
    Object.defineProperty(world, "views", { configurable: true, writable: true, value: views });
    expect(await viewsOf(session({}))).toEqual(["shared"]);
  });
});
