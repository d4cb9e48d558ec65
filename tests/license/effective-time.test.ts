import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openInstallation } from "../../src/access/open-installation.ts";
import { openSecret } from "../../src/access/secret.ts";
import type { Database } from "../../src/db/database.ts";
import { installation } from "../../src/db/tables/installation.ts";
import { usageRecords } from "../../src/db/tables/usage.ts";
import { createLog } from "../../src/lib/log.ts";
import { type EffectiveTime, openEffectiveTime } from "../../src/license/effective-time.ts";
import { createSeenTimeSeal } from "../../src/license/seen-time.ts";
import { createSeenTimeStore } from "../../src/license/seen-time-store.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
const START = Date.UTC(2026, 10, 1);

let database: Database;
let folder: string;
let file: string;
/** The time as it is, by how much the system's clock is wrong, the lines of the log, and when time began. */
let world: { now: number; wrongMs: number; log: string[]; begun: unknown[] };

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "seen-time-"));
  file = join(folder, "seen-time");
  world = { now: START, wrongMs: 0, log: [], begun: [] };
  await database.db.delete(installation);
  await database.db.delete(usageRecords);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Starts the service, on a folder of its own when it is another replica. */
async function start(at = folder): Promise<EffectiveTime> {
  const secret = await openSecret({ APP_SECRET: "the secret of the tests", DATA_DIR: folder });
  const clock = { now: () => world.now + world.wrongMs };
  const log = createLog("warn", { write: (line) => void world.log.push(line) });
  const { installedAt } = await openInstallation(database, secret, clock);
  const seal = createSeenTimeSeal(secret);
  const store = createSeenTimeStore({
    database,
    seal,
    folder: at,
    journals: join(at, "journal"),
    log,
  });
  return openEffectiveTime({ clock, monotonic: () => world.now, store, installedAt, log: LOG });
}

const LOG = createLog("info", {
  write: (line) => void world.begun.push(JSON.parse(line).begins_at),
});

/** Lets the service run, with a look at the clocks in each interval and at the end. */
async function run(time: EffectiveTime, forMs: number, everyMs = DAY): Promise<void> {
  for (let ran = 0; ran < forMs; ran += everyMs) {
    world.now += Math.min(everyMs, forMs - ran);
    await time.look();
  }
}

/** A whole run of the service, with the clock wrong by so much. */
async function live(forMs: number, wrongMs = 0): Promise<void> {
  world.wrongMs = wrongMs;
  await run(await start(), forMs);
}

async function insertUsage(at: number): Promise<void> {
  await database.db.insert(usageRecords).values({
    id: `req_${at}`,
    startedAt: new Date(at),
    keyId: "key_1",
    channel: "chat",
    model: "m",
    outcome: "ok",
    success: true,
    status: 200,
    inputTokens: 1,
    outputTokens: 1,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: false,
    latencyMs: 1,
  });
}

describe("the time that licenses go by", () => {
  it("is what the system's clock says while that is right", async () => {
    const time = await start();
    expect([time.now(), time.behindMs(), time.installedAt()]).toEqual([START, 0, START]);
    await run(time, 3 * DAY);
    world.now += 17;
    expect([time.now(), time.behindMs()]).toEqual([world.now, 0]);
    expect(world.log).toEqual([]);
  });

  it("is told when it begins, and never again", async () => {
    await live(3 * DAY);
    await live(DAY, -30 * DAY);
    expect(world.begun).toEqual([new Date(START).toISOString()]);
  });

  it("is told to begin when the clock of the first start is set right, where that was broken", async () => {
    world.wrongMs = -START;
    const time = await start();
    await run(time, DAY);
    expect(world.begun).toEqual([]);
    world.wrongMs = 0;
    await run(time, DAY);
    expect(world.begun).toEqual([new Date(world.now).toISOString()]);
  });

  it("goes on while the clock is set back, and is not stopped by setting it back again and again", async () => {
    const time = await start();
    await run(time, 2 * DAY);
    for (let day = 1; day <= 20; day += 1) {
      world.wrongMs = -30 * DAY - day * DAY;
      await run(time, DAY);
    }
    expect(time.now()).toBe(START + 22 * DAY);
    expect(time.behindMs()).toBe(50 * DAY);
    // Between two looks, too.
    world.now += HOUR / 2;
    expect(time.behindMs()).toBe(50 * DAY);
    // Nothing is left of it once the clock is right.
    world.wrongMs = 0;
    expect([time.now(), time.behindMs()]).toEqual([world.now, 0]);
  });

  it("counts on over restarts under a clock that is set back", async () => {
    await live(5 * DAY);
    for (let week = 0; week < 4; week += 1) await live(7 * DAY, -40 * DAY - week * 7 * DAY);
    const time = await start();
    expect(time.now()).toBe(START + 33 * DAY);
  });

  it("loses no more than the time since the last look when it is killed", async () => {
    const time = await start();
    await run(time, DAY);
    world.now += 59 * MINUTE;
    world.wrongMs = -10 * DAY;
    expect((await start()).now()).toBe(START + DAY);
  });

  it("counts the time that the machine was off, also when the clock is set back afterwards", async () => {
    await live(DAY);
    world.now += 60 * DAY;
    await live(10 * MINUTE);
    world.wrongMs = -30 * DAY;
    const time = await start();
    expect(time.now()).toBe(world.now);
    // It waits for what was proven to catch up, and two starts that agree have proven it.
    world.wrongMs = 0;
    await live(MINUTE);
    await live(5 * DAY, -30 * DAY);
    expect((await start()).now()).toBe(world.now);
  });
});

describe("a clock that was wrong by accident", () => {
  it.each([
    ["ten years", 10 * YEAR],
    ["a hundred days", 100 * DAY],
    ["73 years", 73 * YEAR],
  ])("by %s for three days while running leaves hours behind at most", async (_, wrongMs) => {
    const time = await start();
    await run(time, DAY);
    world.wrongMs = wrongMs;
    await run(time, 3 * DAY, HOUR);
    expect(time.now()).toBe(world.now + wrongMs);
    world.wrongMs = 0;
    expect(time.behindMs()).toBeLessThanOrEqual(6 * HOUR);
    expect((await start()).behindMs()).toBeLessThanOrEqual(6 * HOUR);
  });

  it("leaves no more behind when one looks every second", async () => {
    const time = await start();
    world.wrongMs = 10 * YEAR;
    await run(time, MINUTE, 1_000);
    world.wrongMs = 0;
    expect(time.behindMs()).toBeLessThanOrEqual(6_000);
  });

  it("by two months while running leaves minutes behind at most, however evenly it goes on", async () => {
    const time = await start();
    await run(time, DAY);
    world.wrongMs = 60 * DAY;
    await run(time, 4 * HOUR, HOUR);
    world.wrongMs = 0;
    expect(time.behindMs()).toBeLessThanOrEqual(20 * MINUTE);
  });

  it("by one jump of any size leaves minutes behind at most", async () => {
    for (const wrongMs of [DAY, 45 * DAY, 3 * YEAR]) {
      const time = await start();
      await run(time, HOUR);
      world.wrongMs = wrongMs;
      await run(time, HOUR);
      world.wrongMs = 0;
      expect(time.behindMs()).toBeLessThanOrEqual(5 * MINUTE);
      // So that the next case begins without it.
      await run(time, 3 * DAY);
      world.now += DAY;
    }
  });

  it.each([
    ["2099", Date.UTC(2099, 0)],
    ["1970", 0],
  ])("at a start in %s is forgotten at the next", async (_, wrongAt) => {
    await live(DAY);
    const before = world.now;
    world.wrongMs = wrongAt - world.now;
    const wrong = await start();
    expect(wrong.now()).toBe(Math.max(wrongAt, before));
    await run(wrong, 2 * HOUR, HOUR);
    // Under a clock that is behind, time goes on from where it was.
    if (wrongAt < before) expect(wrong.now()).toBe(before + 2 * HOUR);
    world.wrongMs = 0;
    expect(wrong.behindMs()).toBeLessThanOrEqual(10 * MINUTE);
    expect((await start()).behindMs()).toBeLessThanOrEqual(10 * MINUTE);
  });

  it.each([
    ["2099", Date.UTC(2099, 0)],
    ["1970", 0],
  ])(
    "at the first start, in %s, leaves nothing behind: the installation begins when it is right",
    async (_, wrongAt) => {
      world.wrongMs = wrongAt - world.now;
      const time = await start();
      await run(time, 2 * HOUR);
      expect(readdirSync(folder)).toEqual([]);
      world.wrongMs = 0;
      expect([time.now(), time.installedAt()]).toEqual([world.now, world.now]);
      const setRightAt = world.now;
      await run(time, DAY);
      const next = await start();
      expect([next.now(), next.installedAt()]).toEqual([world.now, setRightAt]);
    },
  );

  it("by two months at a start is believed, but no longer than until the time catches up", async () => {
    await live(DAY);
    await live(DAY, 60 * DAY);
    world.wrongMs = 0;
    const time = await start();
    expect(time.behindMs()).toBe(60 * DAY);
    await run(time, 20 * DAY);
    expect(time.behindMs()).toBe(40 * DAY);
    world.now += 40 * DAY;
    expect((await start()).behindMs()).toBe(0);
  });
});

describe("what is kept of the time", () => {
  const loseFile = () => rmSync(file);
  const loseRow = () =>
    database.db.update(installation).set({ latestSeenAt: null, latestSeenSeal: null });
  const setRowBack = (seal: string | null) =>
    database.db.update(installation).set({
      latestSeenAt: new Date(START),
      ...(seal !== null && { latestSeenSeal: seal }),
    });

  it("is in the database and in a file, and to lose one of them loses nothing", async () => {
    await live(10 * DAY);
    world.wrongMs = -5 * DAY;
    loseFile();
    expect((await start()).behindMs()).toBe(5 * DAY);
    await live(0);
    await run(await start(), MINUTE);
    await loseRow();
    world.wrongMs = -5 * DAY;
    expect((await start()).behindMs()).toBe(5 * DAY);
    expect(world.log).toEqual([]);
  });

  it("is made whole again by the next look", async () => {
    await live(10 * DAY);
    loseFile();
    await live(MINUTE);
    await loseRow();
    world.wrongMs = -5 * DAY;
    expect((await start()).behindMs()).toBe(5 * DAY);
  });

  it("is ignored with a warning where it was changed from outside", async () => {
    await live(10 * DAY);
    const sealed = readFileSync(file, "utf8");
    const early = sealed.replaceAll(String(world.now), String(START));
    expect(early).not.toBe(sealed);
    world.wrongMs = -5 * DAY;
    for (const text of [early, "", "nonsense", `${sealed}\n`, sealed.slice(0, -1)]) {
      world.log = [];
      writeFileSync(file, text);
      expect((await start()).behindMs()).toBe(5 * DAY);
      expect(world.log.join()).toContain("changed outside the gateway");
    }
    writeFileSync(file, sealed);
    for (const seal of [null, "", early, "nonsense"]) {
      world.log = [];
      await setRowBack(seal);
      expect((await start()).behindMs()).toBe(5 * DAY);
      expect(world.log.join()).toContain("in the database was changed outside the gateway");
    }
  });

  it("holds the first start, so that it cannot be moved in the database alone", async () => {
    await live(10 * DAY);
    await database.db.update(installation).set({ installedAt: new Date(world.now) });
    expect((await start()).installedAt()).toBe(START);
    // The database without its row, too.
    await database.db.delete(installation);
    expect((await start()).installedAt()).toBe(START);
  });

  it("of a replica holds for the others", async () => {
    const other = mkdtempSync(join(tmpdir(), "seen-time-other-"));
    try {
      const [first, second] = [await start(), await start(other)];
      await run(first, 10 * DAY);
      world.wrongMs = -5 * DAY;
      await second.look();
      await first.look();
      expect([first.behindMs(), second.behindMs()]).toEqual([5 * DAY, 5 * DAY]);
    } finally {
      rmSync(other, { recursive: true });
    }
  });

  it("does not run ahead when several replicas look by turns", async () => {
    const other = mkdtempSync(join(tmpdir(), "seen-time-other-"));
    try {
      const replicas = [await start(), await start(other)];
      world.wrongMs = 10 * YEAR;
      for (let turn = 0; turn < 24; turn += 1) {
        world.now += HOUR / 2;
        await replicas[turn % 2]?.look();
      }
      world.wrongMs = 0;
      for (const time of replicas) expect(time.behindMs()).toBeLessThanOrEqual(90 * MINUTE);
    } finally {
      rmSync(other, { recursive: true });
    }
  });

  it("follows the newest call, unless that is later than it can be", async () => {
    await live(DAY);
    await insertUsage(world.now + 4 * MINUTE);
    await insertUsage(world.now + 10 * YEAR);
    const killedAt = world.now;
    world.wrongMs = -5 * DAY;
    const time = await start();
    await time.look();
    expect(time.now()).toBe(killedAt + 4 * MINUTE);
  });

  it("goes on in memory while the database is away, and is kept in the file", async () => {
    const time = await start();
    await run(time, DAY);
    const secret = await openSecret({ APP_SECRET: "the secret of the tests", DATA_DIR: folder });
    const log = createLog("warn", { write: (line) => void world.log.push(line) });
    const away = { askOwn: () => Promise.reject(new Error("away")) };
    const store = createSeenTimeStore({
      database: away,
      seal: createSeenTimeSeal(secret),
      folder,
      journals: join(folder, "journal"),
      log,
    });
    const clock = { now: () => world.now + world.wrongMs };
    const alone = await openEffectiveTime({
      clock,
      monotonic: () => world.now,
      store,
      installedAt: START,
      log: LOG,
    });
    await run(alone, DAY);
    expect(world.log.join()).toContain("could not be stored in both places");
    world.wrongMs = -5 * DAY;
    expect((await start()).behindMs()).toBe(5 * DAY);
  });
});
