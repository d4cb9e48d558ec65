import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  openWorkers,
  type Workers,
  type WorkersOptions,
} from "../../../src/lib/worker/open-workers.ts";
import { WorkFailure } from "../../../src/lib/worker/work-failure.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { pathOf } from "../../support/processes/bundled-program.ts";
import { spawnProgram } from "../../support/processes/spawn-program.ts";
import type { TestJob } from "../../support/programs/do-jobs.ts";

const source = fileURLToPath(new URL("../../support/programs/do-jobs.ts", import.meta.url));
const program = await pathOf("tests/support/programs/do-jobs.ts");
const MIB = 1024 * 1024;
const LIMITS = { timeMs: 60_000, outputBytes: 1_000 * MIB };

const open: Workers[] = [];
afterEach(() => {
  for (const workers of open.splice(0)) workers.close();
});

function start(options: Partial<WorkersOptions> = {}): Workers {
  const workers = openWorkers({
    program,
    processes: 1,
    memoryBytes: 400 * MIB,
    idleMs: 60_000,
    ...options,
  });
  open.push(workers);
  return workers;
}

async function all<Result = { readonly pid: number }>(
  workers: Workers,
  job: TestJob,
  limits: Partial<typeof LIMITS & { signal: AbortSignal }> = {},
): Promise<Result[]> {
  const results: Result[] = [];
  const signal = new AbortController().signal;
  for await (const result of workers.run(job, { ...LIMITS, signal, ...limits }))
    results.push(result as Result);
  return results;
}

const pidOf = async (workers: Workers) => (await all(workers, { kind: "describe" }))[0]?.pid ?? 0;
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return false;
  }
};
const failure = (promise: Promise<unknown>): Promise<WorkFailure> =>
  promise.then(
    () => expect.unreachable("the job succeeded"),
    (thrown: unknown) => {
      if (!(thrown instanceof WorkFailure)) throw thrown;
      return thrown;
    },
  );

describe("jobs", () => {
  test("results come in their order", async () => {
    const results = await all<{ index: number }>(start(), { kind: "count", to: 1_000 });
    expect(results.map(({ index }) => index)).toEqual(Array.from({ length: 1_000 }, (_, at) => at));
  });

  test("a program that is TypeScript runs on both runtimes", async () => {
    expect(await pidOf(start({ program: source }))).toBeGreaterThan(0);
  });

  test("a process does one job after another, and sees no secrets of the server", async () => {
    const workers = start();
    const [first] = await all<{ pid: number; environment: string[] }>(workers, {
      kind: "describe",
    });
    expect(first?.environment).not.toContain("PATH");
    expect(await pidOf(workers)).toBe(first?.pid);
  });

  test("a process that works in the background goes behind the server", async () => {
    const before = getPriority();
    expect(getPriority(await pidOf(start()))).toBe(before);
    const behind = getPriority(await pidOf(start({ isBackground: true })));
    expect(behind).toBe(Math.min(19, before + 5));
  });

  test("jobs wait for a free process", async () => {
    const workers = start({ processes: 2 });
    const folder = mkdtempSync(join(tmpdir(), "workers-"));
    const file = join(folder, "pids");
    await Promise.all(Array.from({ length: 12 }, () => all(workers, { kind: "sign", file })));
    const pids = readFileSync(file, "utf8").trim().split("\n");
    rmSync(folder, { recursive: true });
    expect(pids).toHaveLength(12);
    expect(new Set(pids).size).toBeLessThanOrEqual(2);
  });

  test("a consumer that pauses stops the work", async () => {
    let resumedAt = 0;
    let lastAt = 0;
    const signal = new AbortController().signal;
    const job: TestJob = { kind: "count", to: 800, bytes: 65_536 };
    for await (const result of start().run(job, { ...LIMITS, signal })) {
      if (resumedAt === 0) {
        await new Promise((resolve) => setTimeout(resolve, 300));
        resumedAt = Date.now();
      }
      lastAt = (result as { at: number }).at;
    }
    expect(lastAt).toBeGreaterThanOrEqual(resumedAt);
  });

  test("what a library writes to the console is no result", async () => {
    expect(await all(start(), { kind: "chatter" })).toHaveLength(1);
  });

  test("an error of the work keeps its code and message, and its process", async () => {
    const workers = start();
    const pid = await pidOf(workers);
    const { reason, code, message } = await failure(all(workers, { kind: "refuse" }));
    expect([reason, code, message]).toEqual(["failed", "refused", "This is refused."]);
    expect(await pidOf(workers)).toBe(pid);
  });
});

describe("inputs", () => {
  const limits = { ...LIMITS, signal: new AbortController().signal };

  test("are pulled part by part, in the order in which the job asks for them", async () => {
    const read: string[] = [];
    const parts = async function* (name: string, sizes: readonly number[]) {
      for (const size of sizes) {
        read.push(`${name} ${size}`);
        yield new Uint8Array(size);
      }
    };
    const inputs = { a: parts("a", [1, MIB, 0]), b: parts("b", [2]), never: parts("never", [3]) };
    const workers = start();
    const results: unknown[] = [];
    for await (const result of workers.run(
      { kind: "echo", inputs: ["b", "a"] },
      { ...limits, inputs },
    ))
      results.push(result);
    expect(results).toEqual([
      { name: "b", bytes: 2 },
      { name: "a", bytes: 1 },
      { name: "a", bytes: MIB },
      { name: "a", bytes: 0 },
    ]);
    expect(read).toEqual(["b 2", "a 1", `a ${MIB}`, "a 0"]);
    expect(await pidOf(workers)).toBeGreaterThan(0);
  });

  test("are read one part ahead of a slow consumer, and ended with the job", async () => {
    let read = 0;
    let isEnded = false;
    const endless = async function* () {
      try {
        for (;;) {
          read += 1;
          yield new Uint8Array(1);
        }
      } finally {
        isEnded = true;
      }
    };
    const job = { kind: "echo", inputs: ["a"] };
    const results = start().run(job, { ...limits, inputs: { a: endless() } });
    for (let taken = 0; taken < 5; taken += 1) await results.next();
    expect(read).toBeLessThan(50);
    await results.return();
    await expect.poll(() => isEnded).toBe(true);
  });

  test("are not held once the process has them", async () => {
    const parts: WeakRef<Uint8Array>[] = [];
    const source = async function* () {
      for (let sent = 0; sent < 50; sent += 1) {
        const part = new Uint8Array(1_024);
        parts.push(new WeakRef(part));
        yield part;
      }
    };
    const workers = start();
    const job = { kind: "echo", inputs: ["a"] };
    for await (const _ of workers.run(job, { ...limits, inputs: { a: source() } }));
    // The process is idle, and keeps nothing of its last job alive.
    await vi.waitFor(() => {
      collectGarbage();
      expect(parts.filter((part) => part.deref() !== undefined).length).toBeLessThan(10);
    });
  });

  test("that fail end the job with their error", async () => {
    // biome-ignore lint/correctness/useYield: it fails at once.
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      throw new Error("the source is gone");
    };
    const job = { kind: "echo", inputs: ["a"] };
    const results = start().run(job, { ...limits, inputs: { a: broken() } });
    await expect(results.next()).rejects.toThrow("the source is gone");
  });
});

describe("a job that runs wild fails alone", () => {
  test.each([
    ["time", { kind: "spin" }, { timeMs: 2_000 }],
    ["memory", { kind: "allocate" }, {}],
    ["output", { kind: "count", to: 1_000, bytes: 10_000 }, { outputBytes: MIB }],
    ["output", { kind: "count", to: 1, bytes: 5 * MIB }, {}],
    ["crashed", { kind: "exit" }, {}],
  ] as const)("%s: %j", async (reason, job, limits) => {
    const workers = start();
    const [thrown] = await Promise.all([
      failure(all(workers, job, limits)),
      all(workers, { kind: "describe" }),
    ]);
    expect(thrown.reason).toBe(reason);
    expect(await all(workers, { kind: "count", to: 3 })).toHaveLength(3);
  });

  test("a process that keeps much memory after a job is not used again", async () => {
    const workers = start({ memoryBytes: 300 * MIB });
    const [first] = await all(workers, { kind: "retain" });
    expect(await pidOf(workers)).not.toBe(first?.pid);
  });
});

describe("abort", () => {
  test("kills the process and throws the signal's reason", async () => {
    const workers = start();
    const controller = new AbortController();
    const reason = new Error("the user went away");
    let pid = 0;
    const reading = async () => {
      for await (const result of workers.run(
        { kind: "spin" },
        { ...LIMITS, signal: controller.signal },
      )) {
        pid = (result as { pid: number }).pid;
        controller.abort(reason);
      }
    };
    await expect(reading()).rejects.toBe(reason);
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(await pidOf(workers)).not.toBe(pid);
  });

  test("ends the wait for a process", async () => {
    const workers = start();
    const busy = workers.run({ kind: "spin" }, { ...LIMITS, signal: new AbortController().signal });
    await busy.next();
    const controller = new AbortController();
    const waiting = all(workers, { kind: "describe" }, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await busy.return();
    expect(await pidOf(workers)).toBeGreaterThan(0);
  });

  test("a consumer that stops early kills the process", async () => {
    const workers = start();
    let pid = 0;
    for await (const result of workers.run(
      { kind: "spin" },
      { ...LIMITS, signal: new AbortController().signal },
    )) {
      pid = (result as { pid: number }).pid;
      break;
    }
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});

describe("processes end", () => {
  test("after a time without work", async () => {
    const workers = start({ idleMs: 50 });
    const pid = await pidOf(workers);
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(await pidOf(workers)).not.toBe(pid);
  });

  test("when the workers are closed, and jobs fail with that reason", async () => {
    const workers = start();
    const pid = await pidOf(workers);
    const spinning = failure(all(workers, { kind: "spin" }));
    workers.close();
    expect((await spinning).reason).toBe("closed");
    expect((await failure(all(workers, { kind: "describe" }))).reason).toBe("closed");
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  test("and do not start where no file descriptor is left, which ends nothing else", async () => {
    const server = await spawnProgram("spawn-without-descriptors");
    expect(await server.ended).toBe(0);
    expect(server.output()).toMatch(/WorkFailure: .*no file descriptor left.*\nit goes on\n/);
  });

  test("when the server is killed, even while they are busy", async () => {
    const server = await spawnProgram("hold-worker");
    await server.says("worker ");
    const pid = Number(/worker (\d+)\./.exec(server.output())?.[1]);
    expect(isAlive(pid)).toBe(true);
    server.child.kill("SIGKILL");
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});
