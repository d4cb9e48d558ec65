import { describe, expect, it } from "vitest";
import { shareRecent, shareRuns } from "../../src/lib/concurrency.ts";

/** A work whose runs end when the test says so. */
function works() {
  const ends: { readonly resolve: () => void; readonly reject: (reason: Error) => void }[] = [];
  const run = shareRuns(
    () => new Promise<void>((resolve, reject) => ends.push({ resolve, reject })),
  );
  return { run, ends };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("shared runs", () => {
  it("come one at a time, each begun after it was asked for", async () => {
    const { run, ends } = works();
    const first = run();
    const later = [run(), run(), run()];
    expect(ends).toHaveLength(1);
    ends[0]?.resolve();
    await first;
    await turn();
    expect(ends).toHaveLength(2);
    const latest = run();
    ends[1]?.resolve();
    await Promise.all(later);
    await turn();
    expect(ends).toHaveLength(3);
    ends[2]?.resolve();
    await latest;
    expect(ends).toHaveLength(3);
  });

  it("go on after one that failed, which those who asked for it hear of", async () => {
    const { run, ends } = works();
    const [first, second] = [run(), run()];
    ends[0]?.reject(new Error("failed"));
    await expect(first).rejects.toThrow("failed");
    await turn();
    ends[1]?.resolve();
    await second;
    const third = run();
    ends[2]?.resolve();
    await third;
  });
});

describe("a question that is shared", () => {
  it("is asked once for all who want an answer of its age, and again after it or a failure", async () => {
    let now = 0;
    let asked = 0;
    const ask = shareRecent(
      async () => {
        asked += 1;
        if (asked === 2) throw new Error("failed");
        return asked;
      },
      1_000,
      () => now,
    );
    expect(await Promise.all([ask(), ask()])).toEqual([1, 1]);
    now = 999;
    expect(await ask()).toBe(1);
    now = 1_000;
    await expect(ask()).rejects.toThrow("failed");
    expect([await ask(), await ask()]).toEqual([3, 3]);
  });
});
