import { describe, expect, it, vi } from "vitest";
import { watchTime } from "../../../src/lib/time/watch-time.ts";

const WAIT = { timeout: 20_000, interval: 10 };
const sleep = (durationMs: number) => new Promise((resolve) => setTimeout(resolve, durationMs));

describe("the watch on time", () => {
  it("looks again and again until it is stopped, and each look for itself", async () => {
    const seen: number[] = [];
    let others = 0;
    const stop = watchTime((now) => seen.push(now));
    const stopOther = watchTime(() => {
      others++;
    });
    await vi.waitFor(() => expect(seen.length).toBeGreaterThanOrEqual(2), WAIT);
    stop();
    const looks = seen.length;
    expect(seen).toEqual([...seen].sort((one, other) => one - other));
    await vi.waitFor(() => expect(others).toBeGreaterThan(looks + 2), WAIT);
    expect(seen).toHaveLength(looks);
    stopOther();
  });

  it("starts anew after nothing was watched for a while", async () => {
    await sleep(150);
    await new Promise<void>((resolve) => {
      const stop = watchTime(() => {
        stop();
        resolve();
      });
    });
  });

  it("lets a look stop itself or start another", async () => {
    const order: string[] = [];
    const stopFirst = watchTime(() => {
      stopFirst();
      order.push("first");
      const stopSecond = watchTime(() => {
        stopSecond();
        order.push("second");
      });
    });
    await vi.waitFor(() => expect(order).toEqual(["first", "second"]), WAIT);
  });
});
