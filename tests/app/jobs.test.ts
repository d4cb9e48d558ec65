import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startJobs } from "../../src/jobs.ts";
import { createLog } from "../../src/lib/log.ts";
import { createJobFigures } from "../../src/operations/metrics/job-figures.ts";

const CHECK = "check alerts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One part with one job, every minute. */
function depsWith(run: () => Promise<void>) {
  const lines: { readonly job: string; readonly err: { readonly message: string } }[] = [];
  const jobs = createJobFigures({ now: () => 0 });
  const deps = {
    parts: [{}, { jobs: [{ name: CHECK, pauseMs: 60_000, run }] }],
    log: createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) }),
    figures: { jobs },
  };
  return { deps, jobs, said: () => lines.map(({ job, err }) => `${job}: ${err.message}`) };
}

describe("a job that fails", () => {
  it("is counted each time, and says the same thing once until it went well", async () => {
    let failure: string | undefined = "no table";
    const { deps, jobs, said } = depsWith(async () => {
      if (failure !== undefined) throw new Error(failure);
    });
    const running = startJobs(deps);
    await vi.advanceTimersByTimeAsync(180_000);
    expect(jobs.runs[CHECK]).toMatchObject({ ok: 0, failed: 3 });
    expect(said()).toEqual([`${CHECK}: no table`]);
    failure = "no column";
    await vi.advanceTimersByTimeAsync(120_000);
    failure = undefined;
    await vi.advanceTimersByTimeAsync(60_000);
    failure = "no column";
    await vi.advanceTimersByTimeAsync(60_000);
    expect(jobs.runs[CHECK]).toMatchObject({ ok: 1, failed: 6 });
    expect(said()).toEqual(
      ["no table", "no column", "no column"].map((text) => `${CHECK}: ${text}`),
    );
    running.stop();
    expect(jobs.isOnTime()).toBe(false);
  });
});
