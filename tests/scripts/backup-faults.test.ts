import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { checkBackup } from "../../src/operations/backup/check-backup.ts";
import { callGateway, chatBody } from "../support/clients/call-gateway.ts";
import { faultRandom } from "../support/faults/fault-random.ts";
import { trialSize } from "../support/faults/trial-size.ts";
import { runScript, startScript } from "../support/processes/run-script.ts";
import { openedKind } from "../support/servers/databases/test-database.ts";
import { startGateway, startRefused, type TestGateway } from "../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";
import {
  backUp,
  createBackupStage,
  type Environment,
  makeInstallation,
  readTables,
  type StoreKind,
  storeKinds,
  withDatabase,
} from "../support/stages/backup-stage.ts";
import { readUsageRows } from "../support/stages/usage/stored-usage.ts";

vi.setConfig({ testTimeout: 900_000 });
const MODEL = "sim-chat";
const REQUESTS_PER_SECOND = trialSize(20, 100);
const OPEN_CALLS_MAX = 50;
const HEAD_START_CALLS = trialSize(30, 200);
const KILLS = trialSize(2, 5);
const ROWS = trialSize(10_000, 40_000);
/** Both in the fault suite, elsewhere the one that the tests run on. */
const kinds = trialSize([openedKind], storeKinds);
/** Smaller than a backup of so many rows. */
const DISK = trialSize("64k", "256k");
const ON_SMALL_DISK = `mount -t tmpfs -o size=${DISK},mode=700 tmpfs "$0" && "$@"; code=$?; ls -A "$0" >&2; exit $code`;

const random = faultRandom("kills of backups");
const mayMount = spawnSync("unshare", ["-m", "true"]).status === 0;
const stage = createBackupStage();
let simulator: TestSimulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(async () => {
  await simulator.stop();
  await stage.remove();
});

/** What the cases back up and none changes: one installation of each kind, with its backup. */
const sources = new Map<string, Promise<Source>>();

interface Source {
  readonly place: Environment;
  readonly file: string;
  readonly backupMs: number;
}

function sourceOf(kind: StoreKind): Promise<Source> {
  const known = sources.get(kind) ?? makeSource(kind);
  sources.set(kind, known);
  return known;
}

async function makeSource(kind: StoreKind): Promise<Source> {
  const place = await stage.newPlace(kind);
  await makeInstallation(place, ROWS);
  const startedAt = performance.now();
  const file = await backUp(place, stage.newFile());
  return { place, file, backupMs: performance.now() - startedAt };
}

const engine = () => ({ LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url });

interface Load {
  /** Ids of the calls that were answered to their last byte by now. */
  readonly answered: () => readonly string[];
  readonly failures: () => readonly string[];
  readonly stop: () => Promise<void>;
}

/** Calls at a steady rate, whole and streamed. */
function startLoad({ port }: TestGateway): Load {
  const answered: string[] = [];
  const failures: string[] = [];
  const running = new Set<Promise<void>>();
  const startedAt = performance.now();
  let begun = 0;
  const call = async (stream: boolean): Promise<void> => {
    const response = await callGateway(port, {
      body: chatBody(MODEL, { stream, max_tokens: 5 }),
    });
    if (response.status === 200) answered.push(response.header("x-request-id") ?? "");
    else failures.push(response.text);
  };
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) * REQUESTS_PER_SECOND) / 1_000;
    // On a slow machine fewer, so that none waits for longer than a client does.
    for (; begun < due && running.size < OPEN_CALLS_MAX; begun += 1) {
      const one = call(begun % 2 === 1)
        .catch((thrown: unknown) => void failures.push(String(thrown)))
        .finally(() => running.delete(one));
      running.add(one);
    }
  }, 10);
  return {
    answered: () => [...answered],
    failures: () => failures,
    async stop() {
      clearInterval(timer);
      await Promise.all(running);
    },
  };
}

/** Starts a restore and kills it so long after it has begun to change something; `whole` when it came to its end. */
async function killedRestore(
  file: string,
  target: Environment,
  afterMs: number,
): Promise<"half" | "whole"> {
  const mark = join(target["DATA_DIR"] ?? "", "restore.unfinished");
  const { child, ended } = await startScript("restore", [file], target);
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!existsSync(mark) && !isOver) await sleep(5);
  await sleep(afterMs);
  child.kill("SIGKILL");
  const { code, stderr } = await ended;
  if (code !== 0) expect([code, stderr.replaceAll(/^restore: .*\n/gm, "")]).toEqual([null, ""]);
  // Without its mark it is whole, and only had no time to say so.
  return existsSync(mark) ? "half" : "whole";
}

/** What the sums of all hours say, and how many rows there are. */
function countUsage(environment: Environment): Promise<object | undefined> {
  return withDatabase(environment, async (db) => {
    const rows = await db.execute(sql`
      select (select count(*)::int from usage_records) as rows,
        (select sum(requests)::int from usage_hours) as by_hours,
        (select sum(requests)::int from model_hours) as by_models,
        (select sum(requests)::int from usage_months) as by_months,
        (select sum(requests)::int from usage_slots) as by_slots`);
    return rows[0];
  });
}

describe.each(kinds)("on the %s database", (kind) => {
  test("every answer that was finished before a backup began is in it exactly once, and none fails meanwhile", async () => {
    const source = await stage.newPlace(kind);
    const gateway = await startGateway({ ...engine(), ...source });
    const load = startLoad(gateway);
    while (load.answered().length < HEAD_START_CALLS) await sleep(10);
    const finished = load.answered();
    const file = stage.newFile();
    const made = await runScript("backup", [file], source);
    await load.stop();
    expect([made.code, made.stdout]).toEqual([0, `${file}\n`]);
    expect(load.failures()).toEqual([]);
    expect(load.answered().length).toBeGreaterThan(finished.length);
    await gateway.stop();

    const target = await stage.newPlace(kind);
    expect(await runScript("restore", [file], target)).toMatchObject({ code: 0 });
    const restored = await startGateway({ ...engine(), ...target });
    const { DATA_DIR = "" } = target;
    const journals = () => readdirSync(join(DATA_DIR, "journal")).filter((n) => n.endsWith("nal"));
    // Its own.
    while (journals().length > 1) await sleep(50);
    await restored.stop();
    const ids = (await readUsageRows({ ...target, DATA_DIR })).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(finished.filter((id) => !ids.includes(id))).toEqual([]);
    const rows = ids.length;
    const sums = { by_hours: rows, by_models: rows, by_months: rows, by_slots: rows };
    expect(await countUsage(target)).toEqual({ rows, ...sums });
  });

  test("a backup that is killed leaves no file by its name, or a whole one", async () => {
    const { place: source, file: good, backupMs } = await sourceOf(kind);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const file = stage.newFile();
      const { child, ended } = await startScript("backup", [file], source);
      await sleep(random() * 2 * backupMs);
      child.kill("SIGKILL");
      await ended;
      if (existsSync(file)) await checkBackup({ file });
    }
    const names = readdirSync(dirname(good));
    expect(
      names.filter((name) => !/^\d+(\.tar\.gz(\.\d+\.\d*\.[\w-]+\.\w+\.partial)?)?$/.test(name)),
    ).toEqual([]);
    const last = await runScript("backup", [], source);
    expect([last.code, last.stderr]).toEqual([
      0,
      expect.stringContaining("verified by reading it back"),
    ]);
    const database = kind === "embedded" ? "its embedded database" : "the PostgreSQL database";
    expect(last.stderr).toContain(`backed up the folder ${source["DATA_DIR"]} (DATA_DIR)`);
    expect(last.stderr).toContain(database);
  });

  test("a restore that is killed can be run again, and what is half is never taken for whole", async () => {
    const { place: source, file, backupMs } = await sourceOf(kind);
    const target = await stage.newPlace(kind);
    const { DATA_DIR = "" } = target;
    const mark = join(DATA_DIR, "restore.unfinished");
    let halves = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      // The first one at once, so that at least one is in time.
      const afterMs = (random() * 2 * backupMs * kill) / KILLS;
      const end = await killedRestore(file, target, afterMs);
      if (end === "whole") break;
      halves += 1;
    }
    // A last one that came to its end is no half.
    if (existsSync(mark)) {
      const refused = await startRefused({ ...engine(), ...target });
      expect([refused.code, refused.output]).toEqual([1, expect.stringContaining("not finished")]);
      expect(await runScript("restore", [file], target)).toMatchObject({ code: 0 });
    }
    expect(halves).toBeGreaterThan(0);
    expect(existsSync(mark)).toBe(false);
    expect(await readTables(target)).toEqual(await readTables(source));
    const gateway = await startGateway({ ...engine(), ...target });
    await gateway.stop();
  });
});

test("a full disk is told, and leaves nothing behind", async () => {
  if (!mayMount) return;
  const { place: source, file } = await sourceOf(openedKind);
  const disk = stage.newFile();
  mkdirSync(disk);
  const through = ["unshare", "-m", "sh", "-c", ON_SMALL_DISK, disk];
  const full = await (await startScript("backup", [join(disk, "one.tar.gz")], source, through))
    .ended;
  expect([full.code, full.stdout]).toEqual([1, ""]);
  // The list of what is on that disk is empty.
  const said = full.stderr.replaceAll(/^backup: .*\n/gm, "");
  expect(said).toMatch(/^The disk is full.*Make room, or name a file on another disk\.\n$/);

  const target = { DATA_DIR: join(disk, "data") };
  const restored = await (await startScript("restore", [file], target, through)).ended;
  expect([restored.code, restored.stdout]).toEqual([1, ""]);
  expect(restored.stderr).toMatch(/disk is full|No space left|ENOSPC/i);
  expect(restored.stderr).toContain("not finished: no server starts here");
});

test("a command that is killed costs the server nothing, and the next one gets its backup", async () => {
  const source = await stage.newPlace("embedded");
  await makeInstallation(source, ROWS);
  const gateway = await startGateway({ ...engine(), ...source });
  for (let kill = 0; kill < KILLS; kill += 1) {
    const { child, ended } = await startScript("backup", [stage.newFile()], source);
    await sleep(random() * 3_000);
    child.kill("SIGKILL");
    await ended;
  }
  const interrupted = await startScript("backup", [stage.newFile()], source);
  await sleep(1_000);
  interrupted.child.kill("SIGTERM");
  expect([0, 1, null]).toContain((await interrupted.ended).code);
  // The server may still be making the backup of the command that has left.
  const backUp = async () => (await runScript("backup", [stage.newFile()], source)).code;
  await expect.poll(backUp, { timeout: 60_000 }).toBe(0);
  const files = [stage.newFile(), stage.newFile()];
  const [one, other] = await Promise.all(files.map((each) => runScript("backup", [each], source)));
  // The second one may come when the first is done.
  const refused = [one, other].filter((end) => end?.code !== 0);
  expect(refused.length).toBeLessThan(2);
  for (const end of refused) expect(end?.stderr).toContain("A backup is being made already");
  const file = stage.newFile();
  expect(await runScript("backup", [file], source)).toMatchObject({ code: 0 });
  const { tables } = await checkBackup({ file });
  expect(tables.find(({ name }) => name === "usage_records")?.rows).toBe(ROWS);
  expect((await callGateway(gateway.port, { body: chatBody(MODEL) })).status).toBe(200);
  await gateway.stop();
  expect(gateway.output()).not.toContain('"level":"error"');
});
