import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openReplicaGuard, type ReplicaGuard } from "../../../src/db/locks/replica-guard.ts";
import { createLog } from "../../../src/lib/log.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import {
  openSeverableDatabase,
  type SeverableDatabase,
} from "../../support/servers/databases/severable-database.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const WAIT = { timeout: 60_000, interval: 20 };
const log = createLog("silent");

describe.runIf(databaseServerUrl !== undefined)("a replica whose lock another one took", () => {
  let database: SeverableDatabase;
  const open: ReplicaGuard[] = [];

  beforeEach(async () => {
    database = (await openSeverableDatabase()) as SeverableDatabase;
  });
  afterEach(async () => {
    for (const guard of open.splice(0)) await guard.close();
    await database.remove();
  });

  const guardOf = async (url: string) => {
    const guard = await openReplicaGuard({ DATABASE_URL: url }, log);
    open.push(guard);
    return guard;
  };

  it("is not safe again before it has caught up with what that one has counted", async () => {
    const guard = await guardOf(database.url);
    const wasSafe: boolean[] = [];
    guard.onHeldAgain(async () => {
      wasSafe.push(guard.isSafe());
      if (wasSafe.length === 1) throw new Error("the database is away");
    });
    await database.connection.down();
    // Taken as soon as the server has noticed.
    const other = await vi.waitFor(() => guardOf(database.directUrl), WAIT);
    expect(guard.isSafe()).toBe(true);
    await database.connection.up();
    await vi.waitFor(() => expect(guard.isSafe()).toBe(false), WAIT);
    await other.close();
    await vi.waitFor(() => expect(guard.isSafe()).toBe(true), WAIT);
    expect(wasSafe).toEqual([false, false]);
  });
});
