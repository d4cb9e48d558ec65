import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { sessions } from "../../../src/db/tables/users.ts";
import { BackupError } from "../../../src/operations/backup/backup-format.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });
const PATH = "/api/admin/backups";

let served: ServedDeps;
let admin: string;
/** How many the audit log has. */
let recorded = 0;

beforeAll(async () => {
  served = await serveDeps(undefined);
  admin = await logIn(served.url, "admin", ADMIN_PASSWORD);
});
afterEach(() => void vi.restoreAllMocks());
afterAll(() => served?.close());

const ask = () =>
  fetch(served.url + PATH, { method: "POST", headers: { authorization: `Bearer ${admin}` } });
async function newEntries(): Promise<number> {
  const path = "/api/admin/audit?action=backup.create&limit=100";
  const { body } = await callHttp(served.url, { path, token: admin });
  const before = recorded;
  recorded = body.data.length;
  return recorded - before;
}

/** A backup whose second piece comes when the test lets it. */
function heldBackup() {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const close = vi.fn(async () => undefined);
  async function* bytes() {
    yield Buffer.from("begun");
    await released;
  }
  return { running: { bytes: bytes(), close }, close, release };
}

describe("the audit log of backups", () => {
  it("has the one that is sent, and not the one that is refused meanwhile", async () => {
    const { running, release } = heldBackup();
    vi.spyOn(served.deps.backups, "begin")
      .mockReturnValueOnce(Promise.resolve(running))
      .mockReturnValueOnce(undefined);
    const [sent, refused] = [await ask(), await ask()];
    expect([sent.status, refused.status]).toEqual([200, 409]);
    release();
    expect(await sent.text()).toBe("begun");
    expect(await newEntries()).toBe(1);
  });

  it("has none that cannot begin", async () => {
    const fault = new BackupError("a folder cannot be read");
    vi.spyOn(served.deps.backups, "begin").mockImplementationOnce(() => Promise.reject(fault));
    expect((await ask()).status).toBe(503);
    expect(await newEntries()).toBe(0);
  });

  it("has none of a caller who lost the right while it began, and nothing is sent", async () => {
    const { running, close } = heldBackup();
    vi.spyOn(served.deps.backups, "begin").mockImplementationOnce(async () => {
      await served.deps.access.database.ask((db) => db.delete(sessions));
      return running;
    });
    const refused = await ask();
    expect([refused.status, await refused.text()]).toEqual([
      401,
      expect.not.stringContaining("begun"),
    ]);
    expect(close).toHaveBeenCalled();
    admin = await logIn(served.url, "admin", ADMIN_PASSWORD);
    expect(await newEntries()).toBe(0);
  });
});
