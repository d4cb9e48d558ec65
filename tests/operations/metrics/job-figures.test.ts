import { describe, expect, it } from "vitest";
import { createJobFigures } from "../../../src/operations/metrics/job-figures.ts";

const NOW = Date.parse("2027-03-01T12:00:00Z");

describe("figures of background jobs", () => {
  it("are 0 for each job as soon as they begin, and tell whether they go on", () => {
    const figures = createJobFigures({ now: () => NOW });
    expect(figures.isOnTime()).toBe(false);
    figures.begin([
      { name: "one", pauseMs: 5_000 },
      { name: "two", pauseMs: 3_600_000 },
    ]);
    expect(figures.isOnTime()).toBe(true);
    expect(figures.runs).toEqual({
      one: { ok: 0, failed: 0, succeededAt: 0 },
      two: { ok: 0, failed: 0, succeededAt: 0 },
    });
    figures.end();
    expect(figures.isOnTime()).toBe(false);
  });

  it("tell of a job that hangs, or that is begun no more, after several of its pauses", async () => {
    let elapsedMs = 0;
    const figures = createJobFigures({ now: () => NOW }, () => elapsedMs);
    figures.begin([
      { name: "often", pauseMs: 5_000 },
      { name: "seldom", pauseMs: 3_600_000 },
    ]);
    let letGo = () => {};
    const hanging = figures.watch("often", () => new Promise((resolve) => (letGo = resolve)));
    elapsedMs = 899_999;
    expect(figures.isOnTime()).toBe(true);
    elapsedMs += 1;
    expect(figures.isOnTime()).toBe(false);
    letGo();
    await hanging;
    expect(figures.isOnTime()).toBe(true);
    for (; elapsedMs < 3 * 3_600_000; elapsedMs += 800_000)
      await figures.watch("often", () => Promise.reject(new Error("it failed"))).catch(() => {});
    expect(figures.isOnTime()).toBe(false);
    await figures.watch("seldom", async () => undefined);
    expect(figures.isOnTime()).toBe(true);
  });

  it("leave a job the time that it may take", async () => {
    let elapsedMs = 0;
    const figures = createJobFigures({ now: () => NOW }, () => elapsedMs);
    figures.begin([{ name: "long", pauseMs: 5_000, longestMs: 7_200_000 }]);
    void figures.watch("long", () => new Promise(() => undefined));
    elapsedMs = 7_199_999;
    expect(figures.isOnTime()).toBe(true);
    elapsedMs += 1;
    expect(figures.isOnTime()).toBe(false);
  });

  it("tell of work that is no job and is late", () => {
    let isOnTime = true;
    const figures = createJobFigures(
      { now: () => NOW },
      () => 0,
      () => isOnTime,
    );
    expect(figures.isOnTime()).toBe(false);
    figures.begin([{ name: "one", pauseMs: 5_000 }]);
    expect(figures.isOnTime()).toBe(true);
    isOnTime = false;
    expect(figures.isOnTime()).toBe(false);
  });

  it("count what went well and what failed, and hand the failure on", async () => {
    const figures = createJobFigures({ now: () => NOW });
    figures.begin([{ name: "one", pauseMs: 1_000 }]);
    await figures.watch("one", async () => undefined);
    await expect(
      figures.watch("one", async () => {
        throw new Error("it failed");
      }),
    ).rejects.toThrow("it failed");
    await figures.watch("one", async () => undefined);
    expect(figures.runs["one"]).toEqual({ ok: 2, failed: 1, succeededAt: NOW / 1_000 });
  });
});
