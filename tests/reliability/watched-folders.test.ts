import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { folderReaders } from "../support/folder-readers.ts";
import { callHttp, logIn } from "../support/http-session.ts";
import { createRandom } from "../support/random.ts";
import { startGateway, type TestGateway } from "../support/start-gateway.ts";
import { startReplicas } from "../support/start-replicas.ts";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 120_000 });

const ADMIN_PASSWORD = "the administrator's own password";
const WAIT = { timeout: 180_000, interval: 500 };
const QUIET_MS = 12_000;

let root: string;
let folder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "watched-"));
  folder = join(root, "inbox");
  await mkdir(folder);
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** What administrators are shown of the folder's events, and how it fares. */
async function watchThrough(gateway: TestGateway) {
  const token = await logIn(gateway.url, "admin", ADMIN_PASSWORD);
  const read = async (path: string) => (await callHttp(gateway.url, { path, token })).body;
  return {
    async events(): Promise<string[]> {
      const told: string[] = [];
      for (let before = ""; ; ) {
        const page = await read(`/api/admin/events?sink=internal&limit=1000${before}`);
        for (const { kind, state, body } of page.data) {
          told.push(`${kind} ${body.path} ${body.size} ${state}`);
        }
        if (!page.has_more) return told.sort();
        before = `&before=${page.data.at(-1).id}`;
      }
    },
    async state(): Promise<string> {
      return (await read("/api/admin/watched-folders")).data[0]?.state;
    },
  };
}

const at = (name: string) => join(folder, name);
const uploads = (names: readonly string[], size = 1) =>
  names.map((name) => `file.uploaded ${name} ${size} delivered`).sort();

describe("a server that is killed", () => {
  it("has told of each file once when it is back, whenever the kill came", async () => {
    const random = createRandom(7);
    const environment = {
      DATA_DIR: join(root, "data"),
      ADMIN_PASSWORD,
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: "http://127.0.0.1:9",
      WATCH_DIRS: folder,
    };
    await writeFile(at("before"), "x");
    let gateway = await startGateway(environment);
    const names: string[] = [];
    try {
      const first = await watchThrough(gateway);
      await vi.waitFor(async () => expect(await first.state()).toBe("watched"), WAIT);
      for (let cycle = 0; cycle < 4; cycle += 1) {
        for (let index = 0; index < 200; index += 1) {
          const name = `${cycle}-${index}.csv`;
          names.push(name);
          await writeFile(at(`${name}.part`), "x");
          await rename(at(`${name}.part`), at(name));
        }
        // While they settle, are told, or are long told.
        await sleep(4_000 + random() * 6_000);
        gateway.kill("SIGKILL");
        await gateway.exited;
        await writeFile(at(`down-${cycle}.csv`), "x");
        names.push(`down-${cycle}.csv`);
        gateway = await startGateway(environment);
      }
      const watched = await watchThrough(gateway);
      // What was claimed when the kill came is free again only when its lease runs out.
      await vi.waitFor(async () => expect(await watched.events()).toEqual(uploads(names)), WAIT);
      await sleep(QUIET_MS);
      expect(await watched.events()).toEqual(uploads(names));
    } finally {
      await gateway.stop();
    }
  });

  it("leaves no process behind, whether it is killed or stopped", async () => {
    const environment = { LLM_BACKEND: "vllm", LLM_BASE_URL: "http://127.0.0.1:9" };
    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      const gateway = await startGateway({
        ...environment,
        DATA_DIR: join(root, signal),
        ADMIN_PASSWORD,
        WATCH_DIRS: folder,
      });
      const watched = await watchThrough(gateway);
      await vi.waitFor(async () => expect(await watched.state()).toBe("watched"), WAIT);
      expect(await folderReaders(folder)).toHaveLength(1);
      gateway.kill(signal);
      await gateway.exited;
      await vi.waitFor(async () => expect(await folderReaders(folder)).toEqual([]), WAIT);
    }
  });
});

describe("two replicas that share a folder", () => {
  it("tell of each file once, and the other goes on when one is killed", async ({ skip }) => {
    const environment = { ADMIN_PASSWORD, WATCH_DIRS: folder };
    const replicas = await startReplicas({ count: 2, environment });
    if (replicas === undefined) return skip();
    try {
      const views = await Promise.all(replicas.gateways.map(watchThrough));
      const states = () => Promise.all(views.map((view) => view.state()));
      await vi.waitFor(async () => {
        expect((await states()).sort()).toEqual(["elsewhere", "watched"]);
      }, WAIT);
      const looking = (await states()).indexOf("watched");
      const other = views[1 - looking];
      if (other === undefined) throw new Error("no other replica");
      const names = Array.from({ length: 1_500 }, (_, index) => `${index}.csv`);
      const write = (part: readonly string[]) =>
        Promise.all(part.map((name) => writeFile(at(name), "x")));
      await write(names.slice(0, 500));
      await vi.waitFor(
        async () => expect(await other.events()).toEqual(uploads(names.slice(0, 500))),
        WAIT,
      );
      // While the next ones settle or are told.
      await write(names.slice(500, 1_000));
      await sleep(5_500);
      replicas.gateways[looking]?.kill("SIGKILL");
      await write(names.slice(1_000));
      await vi.waitFor(async () => expect(await other.state()).toBe("watched"), WAIT);
      await vi.waitFor(async () => expect(await other.events()).toEqual(uploads(names)), WAIT);
      await replicas.restart(looking);
      await rm(at("7.csv"));
      await sleep(QUIET_MS);
      const expected = [...uploads(names), "file.deleted 7.csv 1 delivered"].sort();
      expect(await other.events()).toEqual(expected);
    } finally {
      await replicas.finish();
    }
  });

  it("leave it to the one that can see it", async ({ skip }) => {
    const environment = { ADMIN_PASSWORD, WATCH_DIRS: folder };
    const replicas = await startReplicas({ count: 2, environment });
    if (replicas === undefined) return skip();
    try {
      const views = await Promise.all(replicas.gateways.map(watchThrough));
      const states = () => Promise.all(views.map((view) => view.state()));
      await vi.waitFor(async () => {
        expect((await states()).sort()).toEqual(["elsewhere", "watched"]);
      }, WAIT);
      const looking = (await states()).indexOf("watched");
      // Its reader hangs, as on a mount that only this replica has lost.
      const readers = await folderReaders(folder, replicas.gateways[looking]?.pid);
      for (const pid of readers) process.kill(pid, "SIGSTOP");
      try {
        await vi.waitFor(async () => expect((await states())[1 - looking]).toBe("watched"), WAIT);
        await writeFile(at("a.csv"), "x");
        await vi.waitFor(async () => {
          expect(await views[1 - looking]?.events()).toEqual(uploads(["a.csv"]));
        }, WAIT);
      } finally {
        for (const pid of readers) process.kill(pid, "SIGCONT");
      }
    } finally {
      await replicas.finish();
    }
  });
});
