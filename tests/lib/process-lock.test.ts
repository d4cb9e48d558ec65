import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acquireProcessLock, ProcessLockHeldError } from "../../src/lib/process-lock.ts";
import { type Program, spawnProgram } from "../support/spawn-program.ts";

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

const record = () => JSON.parse(readFileSync(join(folder, "process.lock"), "utf8"));

function start(): Program {
  const program = spawnProgram("hold-lock", [folder]);
  programs.push(program);
  return program;
}

/** Leaves the lock of an owner that differs from this process in the fields given. */
async function leaveLock(fields: object, ageSeconds = 0): Promise<void> {
  const lock = await acquireProcessLock(folder);
  const left = JSON.stringify({ ...record(), token: "left", ...fields });
  await lock.release();
  const path = join(folder, "process.lock");
  writeFileSync(path, left);
  const moment = Date.now() / 1_000 - ageSeconds;
  utimesSync(path, moment, moment);
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
    const owner = start();
    await owner.says("held");
    const second = start();
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`process ${owner.child.pid}`);
    expect(second.output()).toContain("DATA_DIR");
  });

  it("is taken over from an owner that was killed", async () => {
    const owner = start();
    await owner.says("held");
    owner.child.kill("SIGKILL");
    await owner.ended;
    const lock = await acquireProcessLock(folder);
    expect(record().pid).toBe(process.pid);
    await lock.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is taken over when the owner's number now belongs to another process, our own included", async () => {
    await leaveLock({ startedAt: "1" });
    await (await acquireProcessLock(folder)).release();
    await leaveLock({ startedAt: "1", pid: process.ppid });
    await (await acquireProcessLock(folder)).release();
  });

  it("is not taken from an owner in another container while its heart beats", async () => {
    await leaveLock({ place: "elsewhere" }, 10);
    await expect(acquireProcessLock(folder)).rejects.toThrow(ProcessLockHeldError);
  });

  it("is taken from an owner in another container whose heart has stopped", async () => {
    await leaveLock({ place: "elsewhere" }, 20);
    await (await acquireProcessLock(folder)).release();
  });

  it("shows that its owner lives by touching the file", async () => {
    const lock = await acquireProcessLock(folder);
    const path = join(folder, "process.lock");
    utimesSync(path, 1, 1);
    await expect.poll(() => readAge(path), { timeout: 10_000, interval: 100 }).toBeLessThan(10_000);
    await lock.release();
  });

  it("goes to exactly one of many that race for a dead owner's, also past an heir that died", async () => {
    for (let round = 0; round < 3; round += 1) {
      const dead = { pid: 999_999_999, token: "dead" };
      await leaveLock(dead);
      const heir = JSON.stringify({ ...record(), token: "heir" });
      writeFileSync(join(folder, "process.lock.dead"), heir);
      const racers = Array.from({ length: 5 }, start);
      await Promise.all(racers.map((racer) => Promise.race([racer.says("held"), racer.ended])));
      const winners = racers.filter((racer) => racer.output().includes("held"));
      expect(winners).toHaveLength(1);
      await expect.poll(() => racers.filter((racer) => racer.child.exitCode === 1).length).toBe(4);
      expect(record().pid).toBe(winners[0]?.child.pid);
      winners[0]?.child.kill("SIGKILL");
      await winners[0]?.ended;
    }
  });
});

function readAge(path: string): number {
  return Date.now() - statSync(path).mtimeMs;
}
