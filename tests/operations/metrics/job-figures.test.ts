import { describe, expect, it } from "vitest";
import { createJobFigures } from "../../../src/operations/metrics/job-figures.ts";

const NOW = Date.parse("2027-03-01T12:00:00Z");

describe("figures of background jobs", () => {
  it("are 0 for each job as soon as they begin, and tell whether they go on", () => {
    const figures = createJobFigures({ now: () => NOW });
    expect(figures.isRunning()).toBe(false);
    figures.begin(["one", "two"]);
    expect(figures.isRunning()).toBe(true);
    expect(figures.jobs).toEqual({
      one: { ok: 0, failed: 0, succeededAt: 0 },
      two: { ok: 0, failed: 0, succeededAt: 0 },
    });
    figures.end();
    expect(figures.isRunning()).toBe(false);
  });

  it("count what went well and what failed, and hand the failure on", async () => {
    const figures = createJobFigures({ now: () => NOW });
    figures.begin(["one"]);
    await figures.watch("one", async () => undefined);
    await expect(
      figures.watch("one", async () => {
        throw new Error("it failed");
      }),
    ).rejects.toThrow("it failed");
    await figures.watch("one", async () => undefined);
    expect(figures.jobs["one"]).toEqual({ ok: 2, failed: 1, succeededAt: NOW / 1_000 });
  });
});
