import {
  lstatSync,
  lutimesSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HeartbeatWatch, SILENCE_MS } from "../../../src/lib/process-lock/heartbeat-watch.ts";
import { thisProcess } from "../../../src/lib/process-lock/process-identity.ts";
import {
  acquireProcessLock,
  awaitProcessLock,
  type LockOwner,
  ownerText,
  ProcessLockHeldError,
  parseOwner,
} from "../../../src/lib/process-lock/process-lock.ts";
import { type Program, spawnProgram } from "../../support/processes/spawn-program.ts";

let folder: string;
const programs: Program[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lock-"));
});

afterEach(async () => {
  for (const { child } of programs) child.kill("SIGKILL");
  await Promise.all(programs.splice(0).map(({ ended }) => ended));
  rmSync(folder, { recursive: true });
});

const path = () => join(folder, "process.lock");
const record = () => parseOwner(readlinkSync(path()));

async function start(): Promise<Program> {
  const program = await spawnProgram("hold-lock", [folder]);
  programs.push(program);
  return program;
}

/** The lock of an owner that differs from this process in the fields given. */
function textOf(fields: Partial<LockOwner>): string {
  return ownerText({ ...thisProcess(), token: "left", ...fields });
}

/** A watch whose time goes on by hand. */
function handWatch() {
  let now = 0;
  const watch = new HeartbeatWatch(() => now);
  const pass = (ms: number) => {
    now += ms;
  };
  return { watch, pass };
}

describe("the lock of a folder", () => {
  it("is free again once released, and leaves no file", async () => {
    await (await acquireProcessLock(folder)).release();
    await (await acquireProcessLock(folder)).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("refuses a second owner in the same process", async () => {
    const lock = await acquireProcessLock(folder);
    await expect(acquireProcessLock(folder)).rejects.toThrow(ProcessLockHeldError);
    await lock.release();
  });

  it("refuses a second process and says who holds it and what to do", async () => {
    const owner = await start();
    await owner.says("held");
    const second = await start();
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`process ${owner.child.pid}`);
    expect(second.output()).toContain("DATA_DIR");
  });

  it("is taken over from an owner that was killed", async () => {
    const owner = await start();
    await owner.says("held");
    owner.child.kill("SIGKILL");
    await owner.ended;
    const lock = await acquireProcessLock(folder);
    expect(record()?.pid).toBe(process.pid);
    await lock.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is taken over when the owner's number now belongs to another process, our own included", async () => {
    symlinkSync(textOf({ startedAt: "1" }), path());
    await (await acquireProcessLock(folder)).release();
    symlinkSync(textOf({ startedAt: "1", pid: process.ppid }), path());
    await (await acquireProcessLock(folder)).release();
  });

  it("is not taken from an owner elsewhere while its heart beats, however wrong its clock is", async () => {
    symlinkSync(textOf({ place: "elsewhere" }), path());
    const { watch, pass } = handWatch();
    for (let moment = 1_000; moment < 1_010; moment += 1) {
      lutimesSync(path(), moment, moment);
      await expect(acquireProcessLock(folder, { watch })).rejects.toThrow(ProcessLockHeldError);
      pass(SILENCE_MS);
    }
  });

  for (const kind of ["of a lock", "of what an earlier release has left"]) {
    it(`is taken when the time ${kind} has stood still long enough, whatever it says`, async () => {
      if (kind === "of a lock") symlinkSync(textOf({ place: "elsewhere" }), path());
      else writeFileSync(path(), JSON.stringify({ pid: 1, token: "earlier" }));
      const { watch, pass } = handWatch();
      for (const ms of [SILENCE_MS - 1, 1]) {
        await expect(acquireProcessLock(folder, { watch })).rejects.toThrow(ProcessLockHeldError);
        pass(ms);
      }
      await (await acquireProcessLock(folder, { watch })).release();
      expect(readdirSync(folder)).toEqual([]);
    });
  }

  it("is waited for until an owner elsewhere has shown that it lives, or has been silent", async () => {
    symlinkSync(textOf({ place: "elsewhere" }), path());
    const { watch } = handWatch();
    let waits = 0;
    const living = awaitProcessLock(folder, { watch }, () => {
      waits += 1;
      lutimesSync(path(), 1_000, 1_000);
    });
    await expect(living).rejects.toThrow(ProcessLockHeldError);
    const dead = handWatch();
    const lock = await awaitProcessLock(folder, dead, () => dead.pass(SILENCE_MS));
    expect(record()?.pid).toBe(process.pid);
    expect(waits).toBe(1);
    await lock.release();
  });

  it("shows that its owner lives by touching the lock", async () => {
    const lock = await acquireProcessLock(folder);
    lutimesSync(path(), 1, 1);
    const mtime = () => lstatSync(path()).mtimeMs;
    await expect.poll(mtime, { timeout: 10_000, interval: 100 }).toBeGreaterThan(1_000);
    await lock.release();
  });

  it("tells its owner once that another has taken it, and is left to that one", async () => {
    let losses = 0;
    const onLost = () => {
      losses += 1;
    };
    const lock = await acquireProcessLock(folder, { onLost });
    rmSync(path());
    symlinkSync(textOf({ token: "other" }), path());
    await expect.poll(() => losses, { timeout: 10_000, interval: 100 }).toBe(1);
    await lock.release();
    expect(record()?.token).toBe("other");
  });

  it("fits into the entry of a link, with the longest numbers and names of hosts", () => {
    const text = textOf({
      pid: 4_194_304,
      startedAt: "99999999999",
      token: "12345678",
      hostName: "h".repeat(64),
    });
    expect(text.length).toBeLessThanOrEqual(59);
    expect(parseOwner(text)).toMatchObject({ pid: 4_194_304, token: "12345678" });
  });

  it("goes to exactly one of many that race for a dead owner's, also past an heir that died", async () => {
    for (let round = 0; round < 3; round += 1) {
      const dead = { pid: 999_999_999, token: "dead" };
      rmSync(path(), { force: true });
      symlinkSync(textOf(dead), path());
      symlinkSync(textOf({ ...dead, token: "heir" }), join(folder, "process.lock.dead"));
      const racers = await Promise.all(Array.from({ length: 5 }, start));
      await Promise.all(racers.map((racer) => Promise.race([racer.says("held"), racer.ended])));
      const winners = racers.filter((racer) => racer.output().includes("held"));
      expect(winners).toHaveLength(1);
      await expect.poll(() => racers.filter((racer) => racer.child.exitCode === 1).length).toBe(4);
      expect(record()?.pid).toBe(winners[0]?.child.pid);
      winners[0]?.child.kill("SIGKILL");
      await winners[0]?.ended;
    }
  });
});
