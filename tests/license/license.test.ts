import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { signLicense } from "../../scripts/license/sign-license.ts";
import { openInstallation } from "../../src/access/open-installation.ts";
import { openSecret } from "../../src/access/secret.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import type { Database } from "../../src/db/database.ts";
import { auditLog } from "../../src/db/tables/audit-log.ts";
import { installation } from "../../src/db/tables/installation.ts";
import { uploadedLicense } from "../../src/db/tables/license.ts";
import { usageRecords } from "../../src/db/tables/usage.ts";
import { sessions, users } from "../../src/db/tables/users.ts";
import { StartRefusal } from "../../src/lib/folders/start-refusal.ts";
import { createLog } from "../../src/lib/log.ts";
import { describeLicense } from "../../src/license/describe-license.ts";
import { type License, openLicense } from "../../src/license/license.ts";
import { uploadLicense } from "../../src/license/upload-license.ts";
import { readVerificationKey, type VerificationKey } from "../../src/license/verification-key.ts";
import { insertUsage } from "../../src/usage/journal/usage-store.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";
import {
  licensePayload,
  licenseText,
  makeLicenseKeys,
  vendor,
} from "../support/stages/access/test-license.ts";
import { usageRecord } from "../support/stages/usage/usage-journal.ts";

const DAY = 86_400_000;
/** After the clock of every machine that runs this: what is written in the tests' own time is never the newest. */
const START = Date.UTC(2034, 10, 1);
const inDays = (days: number) => new Date(START + days * DAY).toISOString();
const MACHINE_ID = "0123456789abcdef0123456789abcdef";
const secret = await openSecret({ APP_SECRET: "the secret of the tests", DATA_DIR: "" });
const administrator = {
  caller: {
    kind: "session",
    sessionId: "sid_1",
    ownerId: "usr_1",
    username: "admin",
    role: "admin",
    mustChangePassword: false,
    passthrough: false,
  } as const,
  address: "192.0.2.1",
  requestId: "req_1",
};

let database: Database;
let root: string;
let world: { now: number; log: string[] };
const open = new Set<License>();

beforeAll(async () => {
  database = await openTestDatabase();
  await database.db.insert(users).values({ id: "usr_1", username: "admin", role: "admin" });
  await logInAdministrator();
});
afterAll(() => database.close());
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "license-"));
  mkdirSync(join(root, "data"));
  world = { now: START, log: [] };
  await database.db.delete(installation);
  await database.db.delete(uploadedLicense);
  await database.db.update(users).set({ createdAt: new Date(START) });
});
afterEach(async () => {
  for (const license of open) await license.close();
  open.clear();
  rmSync(root, { recursive: true });
});

interface Start {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly verificationKey?: VerificationKey;
  /** As several replicas have it. */
  readonly kind?: Database["kind"];
}

async function start({ settings, verificationKey, kind }: Start = {}): Promise<License> {
  const clock = { now: () => world.now };
  const { installedAt } = await openInstallation(database, secret, clock);
  const base = {
    database: { ...database, kind: kind ?? database.kind },
    settings: {
      ...loadConfig({}).settings,
      DATA_DIR: join(root, "data"),
      JOURNAL_DIR: undefined,
      LICENSE_FILE: undefined,
      LICENSE_GRACE_DAYS: 14,
      LICENSE_WARN_DAYS: undefined,
      LICENSE_RECHECK_INTERVAL_SEC: 3_600,
      TEST_CLOCK_FILE: undefined,
      ...settings,
    },
    clock,
    log: createLog("info", { write: (line) => void world.log.push(line) }),
  };
  const license = await openLicense(base, {
    verificationKey: verificationKey ?? readVerificationKey(vendor.publicKey),
    secret,
    installedAt,
    monotonic: () => world.now,
    machineRoot: root,
  });
  open.add(license);
  return license;
}

function place(text: string, path = join(root, "data", "license.lic")): void {
  writeFileSync(path, text, "latin1");
}

async function logInAdministrator(): Promise<void> {
  const expiresAt = new Date("9999-01-01T00:00:00Z");
  const session = { id: "sid_1", tokenHash: "hash", userId: "usr_1", expiresAt };
  await database.db.insert(sessions).values(session);
}

const upload = (license: License, text: string) =>
  uploadLicense({ database, license, clock: { now: () => world.now } }, administrator, text);

function setMachine(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(root, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
  }
}

/** Nothing is ever deleted from the audit log. */
const auditOf = (id: string) =>
  database.db
    .select({ action: auditLog.action, details: auditLog.details })
    .from(auditLog)
    .where(eq(auditLog.targetId, id));

describe("without a license", () => {
  it("an evaluation runs for 30 days and 5 users, then the grace, then nothing", async () => {
    const license = await start();
    expect(license.state()).toMatchObject({ valid: true, in_grace: false, days_left: 30 });
    expect(license.state().warning).toContain("No license is set");
    expect(license.maxUsers()).toBe(5);
    expect([license.isInvalid(), license.graceWarning()]).toEqual([false, undefined]);
    world.now = START + 30 * DAY;
    expect(license.state()).toMatchObject({ valid: true, in_grace: true, days_left: 14 });
    expect(license.graceWarning()).toBe(
      "Evaluation expired on 2034-12-01; everything works until 2034-12-15.",
    );
    expect(license.isInvalid()).toBe(false);
    world.now = START + 44 * DAY;
    expect(license.state()).toMatchObject({ valid: false, in_grace: false, days_left: 0 });
    expect([license.isInvalid(), license.graceWarning()]).toEqual([true, undefined]);
  });
});

describe("a placed license", () => {
  it("is read at the start, from DATA_DIR or LICENSE_FILE", async () => {
    place(licenseText({ id: "lic_placed", expires_at: inDays(100), max_users: 77 }));
    const license = await start();
    expect(license.state()).toEqual({
      valid: true,
      in_grace: false,
      expires_at: inDays(100),
      days_left: 100,
      warning: null,
    });
    expect(license.maxUsers()).toBe(77);
    const elsewhere = join(root, "elsewhere.lic");
    place(licenseText({ expires_at: inDays(5), max_users: 6 }), elsewhere);
    expect((await start({ settings: { LICENSE_FILE: elsewhere } })).maxUsers()).toBe(6);
  });

  it.each([
    ["of another vendor", () => signLicense(licensePayload(), makeLicenseKeys().privateKey)],
    ["for another device", () => licenseText({ device_id: "dev_other" })],
    ["that is too large", () => "A".repeat(1_000_000)],
    ["that is empty", () => ""],
    ["of other bytes", () => "\xff\xfe\x00"],
  ])("%s is told of in the log and changes nothing", async (_, text) => {
    place(text());
    const license = await start();
    expect(license.state().warning).toContain("No license is set");
    expect(world.log.join("\n")).toMatch(/"level":"warn".*(was rejected|too large)/);
  });

  it("that LICENSE_FILE names but is not there is told of in the log", async () => {
    await start({ settings: { LICENSE_FILE: join(root, "missing.lic") } });
    expect(world.log.join("\n")).toMatch(
      /"level":"warn".*missing\.lic.*the license file could not be read/,
    );
  });

  it("expires, warns before that as LICENSE_WARN_DAYS says, and another takes its place at the next start", async () => {
    place(licenseText({ expires_at: inDays(10) }));
    const settings = { LICENSE_WARN_DAYS: 3, LICENSE_GRACE_DAYS: 2 };
    const license = await start({ settings });
    expect(license.state().warning).toBeNull();
    world.now = START + 7 * DAY;
    expect(license.state().warning).toBe("The license expires on 2034-11-11: 3 days are left.");
    world.now = START + 12 * DAY;
    expect(license.isInvalid()).toBe(true);
    place(licenseText({ expires_at: inDays(100) }));
    expect(license.isInvalid()).toBe(true);
    expect((await start({ settings })).isInvalid()).toBe(false);
  });
});

describe("an uploaded license", () => {
  it("is in force at once, here and after a restart, and the audit log tells who it is for", async () => {
    const license = await start();
    world.now = START + 50 * DAY;
    expect(license.isInvalid()).toBe(true);
    await upload(license, licenseText({ id: "lic_1", customer: "ACME", expires_at: inDays(80) }));
    expect(license.isInvalid()).toBe(false);
    expect(license.state()).toMatchObject({ valid: true, days_left: 30, warning: null });
    expect((await start()).state()).toEqual(license.state());
    expect(await auditOf("lic_1")).toEqual([
      {
        action: "license.upload",
        details: {
          customer: "ACME",
          kind: "subscription",
          expires_at: inDays(80),
          max_users: 50,
        },
      },
    ]);
  });

  it("reaches other replicas by itself, and each verifies it for itself", async () => {
    const [first, second] = [await start({ kind: "postgres" }), await start({ kind: "postgres" })];
    const { publicKey } = makeLicenseKeys();
    const stranger = await start({
      kind: "postgres",
      verificationKey: readVerificationKey(publicKey),
    });
    await upload(first, licenseText({ max_users: 123, expires_at: inDays(20) }));
    await expect.poll(() => second.maxUsers(), { timeout: 20_000, interval: 20 }).toBe(123);
    await expect.poll(() => world.log.join()).toContain("a license was rejected");
    expect(stranger.maxUsers()).toBe(5);
  });

  it("takes the place of the one before, and gives way to a placed one that was issued later", async () => {
    const license = await start();
    await upload(license, licenseText({ max_users: 10, expires_at: inDays(10) }));
    await upload(license, licenseText({ max_users: 9, expires_at: inDays(9) }));
    expect(license.maxUsers()).toBe(9);
    place(licenseText({ max_users: 8, issued_at: "2035-01-01", expires_at: "2035-06-01" }));
    expect((await start()).maxUsers()).toBe(8);
  });

  it.each([
    ["a damaged one", () => licenseText().slice(0, -3), /damaged|was changed/],
    ["one for another device", () => licenseText({ device_id: "dev_other" }), /another device/],
    ["one that has expired", () => licenseText({ expires_at: inDays(0) }), /expired on 2034-11-01/],
    ["one of a later version", () => licenseText({ version: 2 as 1 }), /update the gateway/],
  ])("is not %s: it is refused and the current one stays", async (_, text, reason) => {
    const license = await start();
    await upload(license, licenseText({ max_users: 33, expires_at: inDays(10) }));
    const refused = upload(license, text());
    await expect(refused).rejects.toThrow(reason);
    await expect(refused).rejects.toBeInstanceOf(ServiceError);
    await expect(refused).rejects.toMatchObject({ code: "invalid_value", param: "file" });
    expect(license.maxUsers()).toBe(33);
    expect((await start()).maxUsers()).toBe(33);
  });

  it("that was issued before a placed one would have no effect: it is refused, until that one has expired", async () => {
    const placed = { issued_at: "2034-09-02", expires_at: inDays(10), max_users: 8 };
    place(licenseText(placed));
    const license = await start();
    const older = licenseText({ issued_at: "2034-09-01", expires_at: inDays(100), max_users: 33 });
    const refused = upload(license, older);
    await expect(refused).rejects.toMatchObject({ code: "invalid_value", param: "file" });
    await expect(refused).rejects.toThrow(
      /issued on 2034-09-01, before the one that is placed on the server, of 2034-09-02.*remove LICENSE_FILE or DATA_DIR\/license\.lic/,
    );
    expect(await database.db.select().from(uploadedLicense)).toEqual([]);
    await upload(license, licenseText({ ...placed, max_users: 9 }));
    expect(license.maxUsers()).toBe(9);
    world.now = START + 11 * DAY;
    await upload(license, older);
    expect(license.maxUsers()).toBe(33);
  });

  it("that has expired by the time that counts is refused, whatever the clock was set to", async () => {
    const license = await start();
    world.now = START + 40 * DAY;
    await license.close();
    world.now = START;
    const later = await start();
    await expect(upload(later, licenseText({ expires_at: inDays(39) }))).rejects.toThrow(/expired/);
    await upload(later, licenseText({ expires_at: inDays(41) }));
    expect(later.state().days_left).toBe(1);
    expect(later.state().warning).toContain("clock is behind");
  });
});

describe("an installation whose row and file of the time were removed", () => {
  const removeBoth = async () => {
    for (const license of open) await license.close();
    open.clear();
    await database.db.delete(installation);
    rmSync(join(root, "data", "seen-time"), { force: true });
  };

  it("starts no new evaluation: it counts from the oldest user", async () => {
    await start();
    await removeBoth();
    world.now = START + 29.5 * DAY;
    expect((await start()).state()).toMatchObject({ valid: true, days_left: 1 });
    await removeBoth();
    world.now = START + 45 * DAY;
    expect((await start()).state()).toMatchObject({ valid: false, days_left: 0 });
  });

  it("goes on from its newest call or journal, whatever the clock says", async () => {
    const journal = join(root, "data", "journal", "one.journal");
    mkdirSync(journal, { recursive: true });
    writeFileSync(join(journal, "00000001.segment"), "");
    const written = new Date(START + 20 * DAY);
    utimesSync(join(journal, "00000001.segment"), written, written);
    expect((await start()).state()).toMatchObject({ valid: true, days_left: 10 });
    await removeBoth();
    const record = usageRecord("call_of_the_future", { startedAt: START + 45 * DAY });
    await insertUsage(database.db, [JSON.stringify(record)], {
      journal: "x",
      segment: 0,
      byteOffset: 0,
    });
    expect((await start()).state()).toMatchObject({ valid: false });
    await database.db.delete(usageRecords);
  });
});

describe("the device id", () => {
  it("comes from the machine's id, does not tell it, and is one for all replicas of one database", async () => {
    setMachine({ "etc/machine-id": `${MACHINE_ID}\n` });
    const { deviceId } = await start({ kind: "postgres" });
    expect(deviceId).toMatch(/^dev_[0-9a-f]{32}$/);
    expect(deviceId).not.toContain(MACHINE_ID.slice(0, 8));
    setMachine({ "etc/machine-id": `${MACHINE_ID.replace("0", "f")}\n` });
    expect((await start({ kind: "postgres" })).deviceId).toBe(deviceId);
    await database.db.delete(installation);
    expect((await start({ kind: "postgres" })).deviceId).not.toBe(deviceId);
    setMachine({ "etc/machine-id": `${MACHINE_ID}\n` });
    await database.db.delete(installation);
    expect((await start()).deviceId).toBe(deviceId);
  });

  it("is another one for an embedded database that was copied to another machine", async () => {
    setMachine({ "etc/machine-id": `${MACHINE_ID}\n` });
    const license = await start({ kind: "embedded" });
    const bound = { kind: "perpetual", expires_at: null, device_id: license.deviceId } as const;
    await upload(license, licenseText(bound));
    setMachine({ "etc/machine-id": `${MACHINE_ID.replace("0", "f")}\n` });
    const copied = await start({ kind: "embedded" });
    expect(copied.deviceId).not.toBe(license.deviceId);
    expect(copied.inForce()).toBeUndefined();
    await upload(copied, licenseText({ expires_at: inDays(90), device_id: null }));
    setMachine({ "etc/machine-id": `${MACHINE_ID}\n` });
    const back = await start({ kind: "embedded" });
    expect([back.deviceId, back.state().days_left]).toEqual([license.deviceId, 90]);
    rmSync(join(root, "etc"), { recursive: true });
    expect((await start({ kind: "embedded" })).deviceId).toBe(license.deviceId);
  });

  it("is made by chance where the machine has none, one for all replicas that start at once", async () => {
    setMachine({ "etc/machine-id": "uninitialized\n" });
    await openInstallation(database, secret, { now: () => START });
    const licenses = await Promise.all([start(), start(), start()]);
    expect(new Set(licenses.map(({ deviceId }) => deviceId)).size).toBe(1);
    await database.db.delete(installation);
    expect((await start()).deviceId).not.toBe(licenses[0].deviceId);
  });

  it("is what a bound license is accepted by", async () => {
    const license = await start();
    const bound = { kind: "perpetual", expires_at: null, device_id: license.deviceId } as const;
    await upload(license, licenseText(bound));
    expect(license.state()).toMatchObject({ valid: true, expires_at: null, days_left: null });
  });
});

describe("more GPUs than the license covers", () => {
  const twoOfEach = {
    "proc/driver/nvidia/gpus/0000:01:00.0/information": "",
    "proc/driver/nvidia/gpus/0000:02:00.0/information": "",
    "sys/class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 8\nsimd_count 0\n",
    "sys/class/kfd/kfd/topology/nodes/1/properties": "cpu_cores_count 0\nsimd_count 256\n",
    "sys/class/kfd/kfd/topology/nodes/2/properties": "cpu_cores_count 0\nsimd_count 256\n",
  };

  it("are warned of and stop nothing", async () => {
    setMachine(twoOfEach);
    place(licenseText({ max_gpus: 3, expires_at: inDays(10) }));
    const license = await start();
    expect(license.state()).toMatchObject({
      valid: true,
      warning: "The license covers 3 GPUs, and 4 were found.",
    });
    expect([license.isInvalid(), license.graceWarning()]).toEqual([false, undefined]);
  });

  it("are not, when it covers as many or any number", async () => {
    setMachine(twoOfEach);
    for (const max_gpus of [4, null]) {
      place(licenseText({ max_gpus, expires_at: inDays(10) }));
      expect((await start()).state().warning).toBeNull();
    }
  });

  it("are told to the administrator with all that the license says", async () => {
    setMachine(twoOfEach);
    const license = await start();
    expect(await describeLicense({ database, license })).toEqual({
      source: null,
      kind: "evaluation",
      id: null,
      customer: null,
      issued_at: null,
      max_users: 5,
      users: 1,
      max_gpus: null,
      gpus: 4,
    });
    const terms = { id: "lic_7", customer: "ACME", issued_at: inDays(-1), expires_at: inDays(9) };
    await upload(license, licenseText({ ...terms, max_gpus: 9 }));
    expect(await describeLicense({ database, license })).toEqual({
      source: "uploaded",
      kind: "subscription",
      id: "lic_7",
      customer: "ACME",
      issued_at: inDays(-1),
      max_users: 50,
      users: 1,
      max_gpus: 9,
      gpus: 4,
    });
  });
});

describe("the test clock", () => {
  const builtIn = { ...readVerificationKey(vendor.publicKey), isBuiltIn: true };
  const settings = { TEST_CLOCK_FILE: "clock" };

  it("is refused under a license of the vendor whose key is built in", async () => {
    place(licenseText({ expires_at: inDays(10) }));
    const refused = start({ settings, verificationKey: builtIn });
    await expect(refused).rejects.toThrow(StartRefusal);
    await expect(refused).rejects.toThrow(/TEST_CLOCK_FILE/);
    await start({ settings });
  });

  it("lets none of the vendor's be uploaded", async () => {
    const license = await start({ settings, verificationKey: builtIn });
    const text = licenseText({ expires_at: inDays(10) });
    await expect(upload(license, text)).rejects.toMatchObject({ code: "invalid_value" });
    expect(license.maxUsers()).toBe(5);
  });
});

describe("the license", () => {
  it("is written into the log at the start and when it changes, not when a day has gone by", async () => {
    place(licenseText({ expires_at: inDays(10) }));
    const license = await start();
    const lines = () => world.log.filter((line) => line.includes('"msg":"license"')).length;
    expect(lines()).toBe(1);
    world.now += DAY;
    await license.catchUp();
    expect(lines()).toBe(1);
    world.now += 10 * DAY;
    await license.catchUp();
    expect(lines()).toBe(2);
  });

  it("looks at the clocks every LICENSE_RECHECK_INTERVAL_SEC, so that a kill loses no more", async () => {
    await start({ settings: { LICENSE_RECHECK_INTERVAL_SEC: 1 } });
    world.now += DAY;
    const latestSeen = async () => {
      const [row] = await database.db.select().from(installation);
      return row?.latestSeenAt?.getTime();
    };
    await expect.poll(latestSeen, { timeout: 10_000 }).toBe(world.now);
  });

  it("goes on as last read while its row is damaged", async () => {
    const license = await start({ kind: "postgres" });
    await upload(license, licenseText({ max_users: 33, expires_at: inDays(10) }));
    await database.db
      .update(uploadedLicense)
      .set({ text: "damaged" })
      .where(eq(uploadedLicense.isOnlyRow, true));
    await license.catchUp();
    expect(license.maxUsers()).toBe(33);
    expect((await start()).maxUsers()).toBe(5);
  });
});
