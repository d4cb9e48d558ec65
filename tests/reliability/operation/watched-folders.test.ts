import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { expireLeases } from "../../support/faults/expire-leases.ts";
import { faultRandom } from "../../support/faults/fault-random.ts";
import { folderReaders } from "../../support/faults/folder-readers.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { makeKeptPlace } from "../../support/servers/databases/kept-place.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { type Replicas, startReplicas } from "../../support/servers/start-replicas.ts";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 120_000 });

const ADMIN_PASSWORD = "the administrator's own password";
const WAIT = { timeout: 180_000, interval: 500 };
const CYCLES = trialSize(2, 4);
const FILES_PER_CYCLE = trialSize(20, 200);
/** Of two replicas, in three parts. */
const SHARED_FILES = trialSize(90, 1_500);
const SETTLE_MS = 1_000;
const ENVIRONMENT = {
  ADMIN_PASSWORD,
  DB_POOL_WAIT_MS: "30000",
  WATCH_INTERVAL_MS: "300",
  WATCH_SETTLE_MS: String(SETTLE_MS),
  WATCH_ANSWER_TIMEOUT_MS: "10000",
};

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "watched-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function makeFolder(name: string): Promise<string> {
  const folder = join(root, name);
  await mkdir(folder);
  return folder;
}

interface ToldEvent {
  readonly kind: string;
  readonly state: string;
  readonly body: { readonly folder: string; readonly path: string; readonly size: number };
}

/** What administrators are shown of a folder's events, and how it fares. */
async function watchThrough(gateway: TestGateway) {
  const token = await logIn(gateway.url, "admin", ADMIN_PASSWORD);
  const read = async (path: string) => (await callHttp(gateway.url, { path, token })).body;
  return {
    async events(folder: string): Promise<string[]> {
      const told: ToldEvent[] = [];
      for (let before = ""; ; ) {
        const page = await read(`/api/admin/events?sink=internal&limit=1000${before}`);
        told.push(...page.data);
        if (!page.has_more) break;
        before = `&before=${page.data.at(-1).id}`;
      }
      return told
        .filter(({ body }) => body.folder === folder)
        .map(({ kind, body, state }) => `${kind} ${body.path} ${body.size} ${state}`)
        .sort();
    },
    async state(folder: string): Promise<string | undefined> {
      const { data } = await read("/api/admin/watched-folders");
      return data.find((one: { folder: string }) => one.folder === folder)?.state;
    },
  };
}
type View = Awaited<ReturnType<typeof watchThrough>>;

const uploads = (names: readonly string[], size = 1) =>
  names.map((name) => `file.uploaded ${name} ${size} delivered`).sort();

/** These and no more, also after a further file has been told of: whatever was to come before it has come. */
async function expectUploads(view: View, folder: string, names: readonly string[]) {
  await vi.waitFor(async () => expect(await view.events(folder)).toEqual(uploads(names)), WAIT);
  await writeFile(join(folder, "the last one"), "x");
  const all = uploads([...names, "the last one"]);
  await vi.waitFor(async () => expect(await view.events(folder)).toContain(all.at(-1)), WAIT);
  await vi.waitFor(async () => expect(await view.events(folder)).toEqual(all), WAIT);
}

describe("a server that is killed", () => {
  it("has told of each file once when it is back, whenever the kill came, and leaves no process", async () => {
    const random = faultRandom("kills, watched folders");
    const folder = await makeFolder("inbox");
    const at = (name: string) => join(folder, name);
    const place = await makeKeptPlace();
    const environment = {
      ...ENVIRONMENT,
      ...place.settings,
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: "http://127.0.0.1:9",
      WATCH_DIRS: folder,
    };
    const expectNoReader = () =>
      vi.waitFor(async () => expect(await folderReaders(folder)).toEqual([]), WAIT);
    await writeFile(at("before"), "x");
    let gateway = await startGateway(environment);
    const names: string[] = [];
    try {
      for (let cycle = 0; cycle < CYCLES; cycle += 1) {
        const view = await watchThrough(gateway);
        await vi.waitFor(async () => expect(await view.state(folder)).toBe("watched"), WAIT);
        expect(await folderReaders(folder)).toHaveLength(1);
        const told = (await view.events(folder)).length;
        for (let index = 0; index < FILES_PER_CYCLE; index += 1) {
          const name = `${cycle}-${index}.csv`;
          names.push(name);
          await writeFile(at(`${name}.part`), "x");
          await rename(at(`${name}.part`), at(name));
        }
        // While they settle, or when some are told.
        if (cycle % 2 === 0) await sleep(random() * SETTLE_MS);
        else {
          await vi.waitFor(
            async () => expect((await view.events(folder)).length).toBeGreaterThan(told),
            { ...WAIT, interval: 20 },
          );
        }
        gateway.kill("SIGKILL");
        await gateway.exited;
        await expectNoReader();
        await writeFile(at(`down-${cycle}.csv`), "x");
        names.push(`down-${cycle}.csv`);
        await expireLeases(place.settings);
        gateway = await startGateway(environment);
      }
      await expectUploads(await watchThrough(gateway), folder, names);
    } finally {
      await gateway.stop();
      await place.remove();
    }
    await expectNoReader();
  });
});

describe("two replicas that share a folder", () => {
  let inbox: string;
  let lost: string;
  let replicas: Replicas;
  let views: View[];

  const stateOf = (folder: string) => Promise.all(views.map((view) => view.state(folder)));
  const watched = (folder: string) =>
    vi.waitFor(async () => {
      const states = await stateOf(folder);
      expect([...states].sort()).toEqual(["elsewhere", "watched"]);
      return states.indexOf("watched");
    }, WAIT);

  /** The reader of the replica that looks hangs, as on a mount that only this replica has lost. */
  async function expectTakenOver(): Promise<void> {
    const looking = await watched(lost);
    const other = views[1 - looking] as View;
    const readers = await folderReaders(lost, replicas.gateways[looking]?.pid);
    expect(readers).toHaveLength(1);
    for (const pid of readers) process.kill(pid, "SIGSTOP");
    try {
      await vi.waitFor(async () => expect(await other.state(lost)).toBe("watched"), WAIT);
      await writeFile(join(lost, "a.csv"), "x");
      await vi.waitFor(
        async () => expect(await other.events(lost)).toEqual(uploads(["a.csv"])),
        WAIT,
      );
    } finally {
      for (const pid of readers) process.kill(pid, "SIGCONT");
    }
  }

  const names = Array.from({ length: SHARED_FILES }, (_, index) => `${index}.csv`);
  const part = (third: number) =>
    names.slice((third * SHARED_FILES) / 3, ((third + 1) * SHARED_FILES) / 3);
  const write = (some: readonly string[]) =>
    Promise.all(some.map((name) => writeFile(join(inbox, name), "x")));

  it("tell of each file once, the other goes on when one is killed or cannot see it", async ({
    skip,
  }) => {
    inbox = await makeFolder("inbox");
    lost = await makeFolder("lost");
    const environment = { ...ENVIRONMENT, WATCH_DIRS: `${inbox},${lost}` };
    const started = await startReplicas({ count: 2, environment });
    if (started === undefined) return skip();
    replicas = started;
    try {
      views = await Promise.all(replicas.gateways.map(watchThrough));
      const takenOver = expectTakenOver();
      takenOver.catch(() => undefined);
      const looking = await watched(inbox);
      const other = views[1 - looking] as View;
      await write(part(0));
      await vi.waitFor(
        async () => expect(await other.events(inbox)).toEqual(uploads(part(0))),
        WAIT,
      );
      await takenOver;
      await write(part(1));
      // While they are told.
      await vi.waitFor(
        async () => expect((await other.events(inbox)).length).toBeGreaterThan(part(0).length),
        { ...WAIT, interval: 20 },
      );
      const killed = replicas.gateways[looking];
      killed?.kill("SIGKILL");
      await killed?.exited;
      await expireLeases({ DATA_DIR: root, DATABASE_URL: replicas.databaseUrl });
      await write(part(2));
      await vi.waitFor(async () => expect(await other.state(inbox)).toBe("watched"), WAIT);
      await vi.waitFor(async () => expect(await other.events(inbox)).toEqual(uploads(names)), WAIT);
      await replicas.restart(looking);
      await rm(join(inbox, "7.csv"));
      const expected = [...uploads(names), "file.deleted 7.csv 1 delivered"].sort();
      await vi.waitFor(async () => expect(await other.events(inbox)).toEqual(expected), WAIT);
    } finally {
      await replicas.finish();
    }
  });
});
