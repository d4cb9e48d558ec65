import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  ADVISORY_LOCK,
  openSessionLocks,
  type SessionLocks,
} from "../../../src/db/locks/advisory-locks.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import {
  openSeverableDatabase,
  type SeverableDatabase,
} from "../../support/servers/databases/severable-database.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const WAIT = { timeout: 60_000, interval: 50 };

describe.runIf(databaseServerUrl !== undefined)("locks of several processes", () => {
  let database: SeverableDatabase;
  const open: SessionLocks[] = [];

  beforeEach(async () => {
    database = (await openSeverableDatabase()) as SeverableDatabase;
  });
  afterEach(async () => {
    for (const locks of open.splice(0)) await locks.close();
    await database.remove();
  });

  const locksOf = (url: string) => {
    const locks = openSessionLocks({ url, space: ADVISORY_LOCK.watchedFolder });
    open.push(locks);
    return locks;
  };

  it("are held by one until it lets go, each for itself", async () => {
    const [one, other] = [locksOf(database.url), locksOf(database.directUrl)];
    const [first, second] = await Promise.all([one.hold("a"), one.hold("b")]);
    expect(first).not.toBe(second);
    expect(await other.hold("a")).toBeUndefined();
    expect(await other.hold("c")).toBeDefined();
    // However often it is asked for, it is let go at once.
    expect(await one.hold("a")).toBe(first);
    expect(await one.hold("a")).toBe(first);
    await one.release("a");
    expect(await other.hold("a")).toBeDefined();
    expect(await one.hold("a")).toBeUndefined();
    expect(await one.hold("b")).toBe(second);
    await one.close();
    await vi.waitFor(async () => expect(await other.hold("b")).toBeDefined(), WAIT);
  });

  it("are lost with the connection, and then held for another term", async () => {
    const [one, other] = [locksOf(database.url), locksOf(database.directUrl)];
    const first = await one.hold("a");
    await database.connection.down();
    await expect(one.hold("a")).rejects.toThrow("The database failed");
    // The server notices in its time.
    await vi.waitFor(async () => expect(await other.hold("a")).toBeDefined(), WAIT);
    await database.connection.up();
    await vi.waitFor(async () => expect(await one.hold("a")).toBeUndefined(), WAIT);
    await other.release("a");
    const second = await one.hold("a");
    expect(second).toBeDefined();
    expect(second).not.toBe(first);
  });
});

describe("locks of the one process of the embedded database", () => {
  it("are always held", async () => {
    const locks = openSessionLocks({ url: undefined, space: ADVISORY_LOCK.watchedFolder });
    expect(await locks.hold("a")).toBe(await locks.hold("a"));
    await locks.release("a");
    await locks.close();
  });
});
