import { spawn, spawnSync } from "node:child_process";
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { recordJson, scanRecords } from "../../../src/usage/journal/scan-records.ts";
import { createCaseTable, noteLaterRoutes } from "../../support/case-table.ts";
import { callGateway, chatBody } from "../../support/clients/call-gateway.ts";
import { readChatStream } from "../../support/clients/chat-stream.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import { faultRandom } from "../../support/faults/fault-random.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { placeMigratedDatabase } from "../../support/servers/databases/prepared-database.ts";
import {
  openSeverableDatabase,
  type SeverableDatabase,
} from "../../support/servers/databases/severable-database.ts";
import {
  startGateway,
  startRefused,
  type TestGateway,
} from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { expectCleanOutput, expectUnhurt } from "../../support/stages/engine-stage.ts";
import { clearUsageRows, readUsageRows } from "../../support/stages/usage/stored-usage.ts";

const MODEL = "sim-chat";
const MOUNT = 'mount -t tmpfs -o size=4m,mode=700 tmpfs "$0" && exec "$@"';
const MOUNT_SMALL = MOUNT.replace("size=4m", "size=4m,nr_inodes=64");
/** As large as the embedded database, which is put there, needs it. */
const MOUNT_WITH = MOUNT.replace("size=4m", "size=400m").replace(
  'exec "$@"',
  'cp -R "$1/." "$0" && shift && exec "$@"',
);
const EVENTUALLY_MS = 120_000;
const JOURNALED_CALLS = 12;
const DAMAGES = trialSize(1, 2);
const ADMIN_PASSWORD = "the administrator's own password";
const NO_POSTGRES = "left out: no PostgreSQL here";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 240_000 });
const table = createCaseTable({
  D06: "a journal on 4 MB; all of DATA_DIR on 400 MB",
  D07: `${DAMAGES} damages to ${JOURNALED_CALLS} calls`,
  D08: "two processes, one folder",
});
const { shows, leavesOut } = table;
const random = faultRandom("damaged journals");
noteLaterRoutes(table, ["D06"]);
const mayMount = spawnSync("unshare", ["-m", "true"]).status === 0;
const database = await openSeverableDatabase();

let simulator: TestSimulator;
let root: string;

beforeAll(async () => {
  simulator = await startSimulator();
  root = await mkdtemp(join(tmpdir(), "storage-"));
});
afterAll(async () => {
  await simulator.stop();
  await database?.remove();
  await rm(root, { recursive: true, force: true });
});

const engine = () => ({
  LLM_BACKEND: "vllm",
  LLM_BASE_URL: simulator.url,
  APP_SECRET: "the secret of all these servers",
});
const call = ({ port }: TestGateway, stream = false) =>
  callGateway(port, { body: chatBody(MODEL, { stream }) });

/** A call that is answered wholly; returns its request id. */
async function answeredCall(gateway: TestGateway, stream = false): Promise<string> {
  const response = await call(gateway, stream);
  expect([response.status, response.status === 200 ? "" : response.text]).toEqual([200, ""]);
  if (stream) expect(readChatStream(response)).toMatchObject({ isDone: true, error: undefined });
  return idOf(response);
}

function idOf(response: RawResponse): string {
  return response.header("x-request-id") ?? "";
}

async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  const until = Date.now() + EVENTUALLY_MS;
  while (!(await holds())) {
    if (Date.now() > until) throw new Error("it never came");
    await sleep(50);
  }
}

function fullDisk(severable: SeverableDatabase): void {
  shows(
    "D06",
    "chat",
    "calls go on over a full journal disk, are refused when the database is gone too, and recover",
    async () => {
      const dataDir = join(root, "full");
      const disk = join(dataDir, "journal");
      mkdirSync(disk, { recursive: true });
      const environment = { ...engine(), DATA_DIR: dataDir, DATABASE_URL: severable.url };
      const through = ["unshare", "-m", "sh", "-c", MOUNT, disk];
      const gateway = await startGateway(environment, through);
      // The disk is seen by the server alone; this is its view.
      const seen = `/proc/${gateway.pid}/root${disk}`;
      const answered = [await answeredCall(gateway), await answeredCall(gateway, true)];

      fill(join(seen, "ballast"));
      const batch = Array.from({ length: 40 }, (_, index) =>
        answeredCall(gateway, index % 2 === 0),
      );
      answered.push(...(await Promise.all(batch)));
      await eventually(() => gateway.output().includes("the usage journal cannot be written"));
      await expectUnhurt(gateway);

      await severable.connection.down();
      // Room that the journal had freed meanwhile may take some more records.
      const ballast = [join(seen, "ballast")];
      await eventually(async () => {
        ballast.push(join(seen, `ballast-${ballast.length}`));
        fill(ballast.at(-1) ?? "");
        const response = await call(gateway);
        if (response.status === 200) answered.push(idOf(response));
        return response.status === 503;
      });
      const refused: string[] = [];
      for (const stream of [true, false, true]) {
        const response = await call(gateway, stream);
        expectChatError(response, 503, "storage_unavailable");
        expect(Number(response.header("retry-after"))).toBeGreaterThanOrEqual(1);
        refused.push(idOf(response));
        await expectUnhurt(gateway);
      }
      const ready = await callGateway(gateway.port, { method: "GET", path: "/api/ready" });
      expect([ready.status, ready.json()]).toMatchObject([503, { failed: ["db"] }]);

      await severable.connection.up();
      await eventually(async () => (await call(gateway)).status === 200);
      answered.push(await answeredCall(gateway));
      for (const path of ballast) rmSync(path);
      await eventually(async () => {
        answered.push(await answeredCall(gateway, true));
        return gateway.output().includes("journal can be written again");
      });
      answered.push(await answeredCall(gateway));
      expect(damageIn(seen)).toEqual([]);
      await expectUnhurt(gateway);
      // The disk goes with the server, so what is still in the journal at its end could not be read any more.
      const store = { DATA_DIR: dataDir, DATABASE_URL: severable.directUrl };
      const isStored = (ids: readonly string[]) => answered.every((id) => ids.includes(id));
      await eventually(async () => isStored((await readUsageRows(store)).map(({ id }) => id)));
      await gateway.stop();
      expectCleanOutput(gateway);

      const rows = await readUsageRows(store);
      const succeeded = rows.filter(({ success }) => success).map(({ id }) => id);
      expect(answered.filter((id) => !succeeded.includes(id))).toEqual([]);
      expect(refused.filter((id) => succeeded.includes(id))).toEqual([]);
    },
  );
}

function startOnFullDisk(severable: SeverableDatabase): void {
  shows(
    "D06",
    "start",
    "a start on a full journal disk answers, brings what is there to the database and has a journal once there is room",
    async () => {
      const dataDir = join(root, "full-at-start");
      const disk = join(dataDir, "journal");
      mkdirSync(disk, { recursive: true });
      const holder = spawn("unshare", ["-m", "sh", "-c", MOUNT_SMALL, disk, "sleep", "600"]);
      const seen = `/proc/${holder.pid}/root${disk}`;
      const isMounted = () => readFileSync(`/proc/${holder.pid}/mounts`, "utf8").includes(disk);
      await eventually(isMounted);
      const enter = ["nsenter", "-m", "-t", String(holder.pid), "sh", "-c", 'cd "$0" && exec "$@"'];
      const through = [...enter, process.cwd()];
      const environment = { ...engine(), DATA_DIR: dataDir, DATABASE_URL: severable.url };
      try {
        const answered: string[] = [];
        const killed = await startGateway(environment, through);
        answered.push(await answeredCall(killed));
        await severable.connection.down();
        for (let index = 0; index < JOURNALED_CALLS; index += 1) {
          answered.push(await answeredCall(killed, true));
        }
        killed.kill("SIGKILL");
        await killed.exited;
        await severable.connection.up();
        fill(join(seen, "ballast"));
        const left = segmentsIn(seen);
        expect(left).not.toEqual([]);

        const first = await startGateway(environment, through);
        answered.push(await answeredCall(first));
        await eventually(() => left.every((path) => !segmentsIn(seen).includes(path)));
        answered.push(await answeredCall(first));
        await first.stop();
        expectCleanOutput(first);

        // Without a free entry there is no room for a lock or a folder, either.
        const entries = fillEntries(join(seen, "entry"));
        const second = await startGateway(environment, through);
        expect(second.output()).toContain("no folder could be created");
        answered.push(await answeredCall(second));
        for (const path of [...entries, join(seen, "ballast")]) rmSync(path);
        await eventually(() => second.output().includes("has a folder again"));
        answered.push(await answeredCall(second, true));
        expect(segmentsIn(seen)).toHaveLength(1);
        await second.stop();
        expectCleanOutput(second);

        const rows = await readUsageRows({ DATA_DIR: dataDir, DATABASE_URL: severable.directUrl });
        const succeeded = rows.filter(({ success }) => success).map(({ id }) => id);
        expect(answered.filter((id) => !succeeded.includes(id))).toEqual([]);
      } finally {
        holder.kill("SIGKILL");
      }
    },
  );
}

function fullForAll(): void {
  shows(
    "D06",
    "chat, embedded database",
    "calls are refused and the server says that it is not ready; both end with the room that is made",
    async () => {
      const dataDir = join(root, "full-for-all");
      mkdirSync(dataDir);
      const made = join(root, "made");
      await placeMigratedDatabase(made);
      const through = ["unshare", "-m", "sh", "-c", MOUNT_WITH, dataDir, made];
      const environment = { ...engine(), DATA_DIR: dataDir, ADMIN_PASSWORD };
      const gateway = await startGateway(environment, through);
      const token = await logIn(gateway.url, "admin", ADMIN_PASSWORD);
      const seen = `/proc/${gateway.pid}/root${dataDir}`;
      const ballast: string[] = [];
      // What has been stored meanwhile gives room back.
      const fillUp = () => {
        ballast.push(join(seen, `ballast-${ballast.length}`));
        fill(ballast.at(-1) ?? "");
      };
      const ready = async () => {
        const answer = await callGateway(gateway.port, { method: "GET", path: "/api/ready" });
        return { status: answer.status, ...(answer.json() as object) };
      };
      const modelCalls = () => simulator.ledger().filter(({ method }) => method === "POST").length;
      const answered = [await answeredCall(gateway), await answeredCall(gateway, true)];
      expect(await ready()).toMatchObject({ status: 200 });
      const isRefused = async (stream: boolean) => {
        const before = modelCalls();
        const response = await call(gateway, stream);
        if (response.status === 200) answered.push(idOf(response));
        else expectChatError(response, 503, "storage_unavailable");
        // What cannot be written down does not reach the model.
        return response.status !== 200 && modelCalls() === before;
      };
      await eventually(async () => {
        fillUp();
        return (await isRefused(false)) && (await isRefused(true));
      });
      let told = await ready();
      await eventually(async () => {
        fillUp();
        told = await ready();
        return told.status === 503;
      });
      expect(told).toMatchObject({
        failed: ["db"],
        checks: { db: false, migrations: true, llm: true },
        hints: { db: expect.stringContaining("make room") },
      });
      for (const path of ballast) rmSync(path);
      // No call comes that would try the disk.
      await eventually(async () => (await ready()).status === 200);
      await eventually(async () => (await call(gateway)).status === 200);
      answered.push(await answeredCall(gateway, true));
      await expectUnhurt(gateway);
      // Its folder goes with it, so it is asked itself.
      await eventually(async () => {
        const { body } = await callHttp(gateway.url, { path: "/api/requests?limit=1000", token });
        const stored = body.data.map(({ id }: { id: string }) => id);
        return answered.every((id) => stored.includes(id));
      });
      await gateway.stop();
      expectCleanOutput(gateway);
    },
  );
}

/** Makes empty files until no more can be made. */
function fillEntries(prefix: string): string[] {
  const paths: string[] = [];
  try {
    for (;;) {
      const path = `${prefix}-${paths.length}`;
      closeSync(openSync(path, "wx"));
      paths.push(path);
    }
  } catch {
    return paths;
  }
}

function fill(path: string): void {
  const file = openSync(path, "w");
  const block = Buffer.alloc(1_024, 1);
  try {
    for (;;) writeSync(file, block);
  } catch {
    closeSync(file);
  }
}

/** Segments with bytes that belong to no whole record. */
function damageIn(folder: string): string[] {
  return segmentsIn(folder).filter((path) => scanRecords(readFileSync(path)).rest !== "nothing");
}

function segmentsIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".segment")).map((name) => join(folder, name));
}

function tornJournal(severable: SeverableDatabase): void {
  const dataDir = () => join(root, "torn");
  const template = () => join(root, "torn-template");
  const settings = () => ({ DATA_DIR: dataDir(), DATABASE_URL: severable.directUrl });

  beforeAll(async () => {
    const environment = { ...engine(), DATA_DIR: dataDir(), DATABASE_URL: severable.url };
    const gateway = await startGateway(environment);
    await answeredCall(gateway);
    await severable.connection.down();
    for (let index = 0; index < JOURNALED_CALLS; index += 1) await answeredCall(gateway, true);
    gateway.kill("SIGKILL");
    await gateway.exited;
    await severable.connection.up();
    const filter = (path: string) => !path.endsWith("process.lock");
    cpSync(join(dataDir(), "journal"), template(), { recursive: true, filter });
  });

  /** Starts a server over the journal damaged so; returns the ids that the database then has and what it said. */
  const replay = async (name: string, damage: (bytes: Buffer) => Buffer) => {
    await clearUsageRows(settings());
    const folder = join(root, name);
    cpSync(template(), folder, { recursive: true });
    const [segment = ""] = segmentsIn(folder);
    writeFileSync(segment, damage(readFileSync(segment)));
    const gateway = await startGateway({ ...engine(), ...settings(), JOURNAL_DIR: folder });
    await eventually(() => segmentsIn(folder).every((path) => path !== segment));
    const added = await answeredCall(gateway);
    await gateway.stop();
    expectCleanOutput(gateway);
    const rows = await readUsageRows(settings());
    const outcomes = rows
      .filter(({ id }) => id !== added)
      .map(({ id, outcome }) => `${id} ${outcome}`);
    const kept = readdirSync(folder).filter((file) => file.endsWith(".damaged"));
    return { outcomes: outcomes.sort(), output: gateway.output(), kept };
  };

  /** What the records that end before a byte tell. */
  const toldBefore = (bytes: Buffer, end: number) => {
    const told = new Map<string, string>();
    for (const record of scanRecords(bytes).records) {
      if (record.end > end) break;
      const { id } = JSON.parse(recordJson(bytes, record)) as { id: string };
      told.set(id, record.kind === "end" ? "ok" : "error");
    }
    return [...told].map(([id, outcome]) => `${id} ${outcome}`).sort();
  };

  shows(
    "D07",
    "chat: cut in the last record",
    "exactly the records before are applied",
    async () => {
      for (let index = 0; index < DAMAGES; index += 1) {
        let wanted: string[] = [];
        const { outcomes, kept } = await replay(`cut-${index}`, (bytes) => {
          const last = scanRecords(bytes).records.at(-1);
          const [from, to] = [last?.offset ?? 0, last?.end ?? 0];
          const at = from + 1 + Math.floor(((to - from - 1) * index) / DAMAGES);
          wanted = toldBefore(bytes, from);
          return bytes.subarray(0, at);
        });
        expect(outcomes).toEqual(wanted);
        expect(kept).toHaveLength(1);
      }
    },
  );

  shows(
    "D07",
    "chat: a byte flipped",
    "exactly the records before are applied, the rest is kept aside and told of",
    async () => {
      for (let index = 0; index < DAMAGES; index += 1) {
        let wanted: string[] = [];
        const { outcomes, kept, output } = await replay(`flip-${index}`, (bytes) => {
          const at = Math.floor(random() * bytes.length);
          const damaged = Buffer.from(bytes);
          damaged[at] = (damaged[at] ?? 0) ^ 0x55;
          const hit = scanRecords(bytes).records.find(({ end }) => end > at);
          wanted = toldBefore(bytes, hit?.offset ?? 0);
          return damaged;
        });
        expect(outcomes).toEqual(wanted);
        expect(kept).toHaveLength(1);
        expect(output).toContain("a usage journal is damaged");
      }
    },
  );
}

describe("the store", () => {
  if (database === undefined) for (const id of ["D06", "D07"]) leavesOut(id, "chat", NO_POSTGRES);
  else {
    if (mayMount) {
      fullDisk(database);
      startOnFullDisk(database);
      fullForAll();
    } else leavesOut("D06", "chat", "left out: no right to mount a small disk");
    describe("with a torn journal", () => tornJournal(database));
  }

  shows(
    "D08",
    "start",
    "a second server on the folder leaves at once with a clear text, and the first one goes on",
    async () => {
      // The lock is the embedded database's; that a killed server is taken over is shown by D01.
      const environment = { ...engine(), DATA_DIR: join(root, "shared") };
      await placeMigratedDatabase(environment.DATA_DIR);
      const first = await startGateway(environment);
      const answered = [await answeredCall(first)];
      const startedAt = Date.now();
      const second = await startRefused({ ...environment, HOST: "127.0.0.1", PORT: "0" });
      // biome-ignore lint/suspicious/noConsole: the figure is what is asked for
      console.info(`D08: the second server left after ${Date.now() - startedAt} ms`);
      expect(second.code).toBeGreaterThan(0);
      expect(second.output).toContain(`process ${first.pid}`);
      expect(second.output).toMatch(/already uses this folder.*DATA_DIR/s);
      expect(second.output).not.toMatch(/\n\s+at /);
      answered.push(await answeredCall(first, true));
      await expectUnhurt(first);
      await first.stop();
      const rows = await readUsageRows({ DATA_DIR: environment.DATA_DIR });
      expect(rows.map(({ id, outcome }) => [id, outcome])).toEqual(
        answered.map((id) => [id, "ok"]),
      );
    },
  );
});
