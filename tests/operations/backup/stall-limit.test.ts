import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { limitStall } from "../../../src/operations/backup/restore/stall-limit.ts";

const LIMIT_MS = 1_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** Work that goes on until it is told to end. */
function longWork() {
  const limit = limitStall(LIMIT_MS, () => new Error("stands still"));
  let finish: () => void = () => undefined;
  const work = new Promise<string>((resolve) => {
    finish = () => resolve("done");
  });
  const end = limit.hold(work).catch((thrown: Error) => thrown.message);
  return { limit, end, finish };
}

test("work without progress is given up", async () => {
  const { end } = longWork();
  vi.advanceTimersByTime(LIMIT_MS);
  expect(await end).toBe("stands still");
});

test("work may last as long as it makes progress", async () => {
  const { limit, end, finish } = longWork();
  for (let step = 0; step < 10; step += 1) {
    vi.advanceTimersByTime(LIMIT_MS - 1);
    limit.tick();
  }
  finish();
  expect(await end).toBe("done");
  expect(vi.getTimerCount()).toBe(0);
});

test("a step that may take longer is waited for, and so are those after it", async () => {
  const { limit, end } = longWork();
  limit.allow(5 * LIMIT_MS);
  vi.advanceTimersByTime(5 * LIMIT_MS - 1);
  limit.tick();
  vi.advanceTimersByTime(5 * LIMIT_MS - 1);
  expect(await Promise.race([end, "waits"])).toBe("waits");
  vi.advanceTimersByTime(1);
  expect(await end).toBe("stands still");
});
