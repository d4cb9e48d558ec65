import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { spawnProgram } from "../../support/processes/spawn-program.ts";
import {
  type PostgresCluster,
  startPostgresCluster,
} from "../../support/servers/databases/postgres-cluster.ts";
import { createDatabase, openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  connectTo,
  countRows,
  eventually,
  journalRoot,
  ledger,
  openTestJournal,
} from "../../support/stages/usage/usage-journal.ts";
import { callIds, writeCalls } from "../../support/stages/usage/write-calls.ts";

const CYCLES = trialSize(6, 20);
/** Calls that a program has under way. */
const LANES = 50;
const WRITE_UNTIL_KILLED = "write-until-killed";
/** Nothing listens there: a journal with this database keeps all on its disk. */
const NOWHERE = "postgres://nobody@127.0.0.1:9/none";

const cluster = await startPostgresCluster();
let url = NOWHERE;
let database: Database;
let root: string;
let remove: () => void;

beforeEach(async () => {
  ({ root, remove } = journalRoot());
  if (cluster === undefined) {
    database = await openTestDatabase();
  } else {
    ({ url } = await createDatabase(cluster.url));
    database = connectTo(url);
    await migrate(database);
  }
});
afterEach(async () => {
  await database.close();
  remove();
});
afterAll(() => cluster?.remove());

describe("the usage journal of processes that are killed", () => {
  it(`loses and doubles nothing when its process is killed ${CYCLES} times at random moments`, async () => {
    const acknowledgements = join(root, "acknowledgements");
    const folder = join(root, "journal");
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      const program = await spawnProgram(WRITE_UNTIL_KILLED, [url, folder, acknowledgements]);
      await program.says("ready");
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
      program.child.kill("SIGKILL");
      await program.ended;
    }
    const journal = await openTestJournal(folder, database);
    await journal.adopted;
    await journal.drain(5_000);

    const lines = readFileSync(acknowledgements, "utf8").trim().split("\n");
    const idsOf = (kind: string) =>
      lines.filter((line) => line.startsWith(kind)).map((line) => line.slice(kind.length + 1));
    const rows = new Map(
      (await ledger(database)).map((line) => line.split(" ", 2)) as [string, string][],
    );
    const ended = idsOf("end");
    expect(ended.length).toBeGreaterThan(CYCLES * LANES);
    expect(ended.filter((id) => rows.get(id) !== "ok")).toEqual([]);
    expect(idsOf("start").filter((id) => !rows.has(id))).toEqual([]);
    expect(await countRows(database)).toBe(rows.size);
    // A process dies at most between a write and its acknowledgements, those of one turn's starts.
    expect(rows.size - idsOf("start").length).toBeLessThanOrEqual(CYCLES * LANES);
    // Every kill but the unluckiest cut some of the 50 calls that were always open.
    expect([...rows.values()].filter((outcome) => outcome === "error").length).toBeGreaterThan(
      CYCLES * 5,
    );
  }, 180_000);

  it("is adopted once when several processes find it at the same time", async () => {
    const acknowledgements = join(root, "acknowledgements");
    const folder = join(root, "journal");
    const args = [url, folder, acknowledgements];
    const lost = await spawnProgram(WRITE_UNTIL_KILLED, args);
    await lost.says("ready");
    await new Promise((resolve) => setTimeout(resolve, 150));
    lost.child.kill("SIGKILL");
    await lost.ended;
    const heirs = await Promise.all(
      Array.from({ length: 3 }, () => spawnProgram(WRITE_UNTIL_KILLED, args)),
    );
    await Promise.all(heirs.map((heir) => heir.says("ready")));
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (const { child } of heirs) child.kill("SIGKILL");
    await Promise.all(heirs.map(({ ended }) => ended));
    const journal = await openTestJournal(folder, database);
    await journal.adopted;
    await journal.drain(5_000);
    const starts = readFileSync(acknowledgements, "utf8").match(/^start/gm) ?? [];
    expect((await countRows(database)) - starts.length).toBeLessThanOrEqual(4 * LANES);
    expect(await countRows(database)).toBeGreaterThanOrEqual(starts.length);
  }, 60_000);
});

function withPostgres({ stop, start }: PostgresCluster): void {
  it("keeps what is recorded while the database is down, and brings it there once it is up", async () => {
    const journal = await openTestJournal(root, database);
    await writeCalls(journal, callIds("before", 1_000));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
    await stop("immediate");
    await writeCalls(journal, callIds("down", 3_000));
    await expect(journal.flush()).rejects.toThrow();
    expect(journal.unflushedRecords).toBeGreaterThanOrEqual(3_000);
    expect(journal.oldestUnflushedAgeSeconds).toBeGreaterThan(0);
    await start();
    await writeCalls(journal, callIds("after", 1_000));
    await eventually(() => journal.unflushedRecords === 0);
    expect(await countRows(database)).toBe(5_000);
    await journal.drain(5_000);
  }, 60_000);
}

/** True where a disk can be mounted that only one process sees. */
function canMount(): boolean {
  const mount = ["-m", "mount", "-t", "tmpfs", "tmpfs", tmpdir()];
  if (spawnSync("unshare", mount).status === 0) return true;
  // biome-ignore lint/suspicious/noConsole: says which tests are left out
  console.info("No disk can be mounted here: the case of the full disk is left out.");
  return false;
}

if (canMount()) {
  describe("the usage journal on a disk that fills up", () => {
    it("goes around it, refuses calls when the database is gone too, and returns to it", async () => {
      const program = await spawnProgram("fill-disk", [root]);
      expect([await program.ended, program.output()]).toEqual([
        0,
        expect.stringMatching(/^{.*}$/m),
      ]);
      expect(JSON.parse(program.output())).toEqual({
        wentAroundBefore: false,
        wentAround: true,
        isRefusing: true,
        isWholeWhileFull: true,
        bothGone: "storage_unavailable",
        mayRecordWithout: false,
        wentAroundAfter: false,
        isEveryCallThereOnce: true,
        wrong: [],
        left: [],
      });
    }, 60_000);
  });
}

if (cluster !== undefined) {
  describe("the usage journal of a database that crashes", () => withPostgres(cluster));
}
