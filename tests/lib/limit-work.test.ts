import { describe, expect, it } from "vitest";
import { limitWork } from "../../src/lib/concurrency.ts";

const REFUSAL = new Error("too many");
const create = () => limitWork({ running: 2, waiting: 3, refusal: () => REFUSAL });

/** Works that end when they are told to, and which of them run. */
function createStage(run: ReturnType<typeof limitWork>) {
  const ends = new Map<number, () => void>();
  const start = (name: number) =>
    run(async () => {
      await new Promise<void>((resolve) => ends.set(name, resolve));
      ends.delete(name);
      return name;
    });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  return {
    start,
    running: () => [...ends.keys()],
    async end(name: number) {
      ends.get(name)?.();
      await settle();
    },
  };
}

describe("limited work", () => {
  it("runs a few at once, the others in the order they came, and refuses what is too much", async () => {
    const stage = createStage(create());
    const works = [1, 2, 3, 4, 5].map(stage.start);
    await expect(stage.start(6)).rejects.toBe(REFUSAL);
    expect(stage.running()).toEqual([1, 2]);
    await stage.end(2);
    expect(stage.running()).toEqual([1, 3]);
    const seventh = stage.start(7);
    for (const name of [1, 3, 4, 5, 7]) await stage.end(name);
    expect(await Promise.all([...works, seventh])).toEqual([1, 2, 3, 4, 5, 7]);
    const eighth = stage.start(8);
    expect(stage.running()).toEqual([8]);
    await stage.end(8);
    expect(await eighth).toBe(8);
  });

  it("goes on after one that fails", async () => {
    const run = create();
    const fail = () => run(() => Promise.reject(new Error("no")));
    for (let time = 0; time < 10; time += 1) await expect(fail()).rejects.toThrow("no");
    expect(await run(async () => "done")).toBe("done");
  });
});
