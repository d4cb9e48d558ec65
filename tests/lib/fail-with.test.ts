import { describe, expect, it, vi } from "vitest";
import { failWith } from "../../src/lib/fail-with.ts";
import { collectGarbage } from "../support/collect-garbage.ts";

describe("Work that may fail with something else", () => {
  it("settles as it does while that lives", async () => {
    const untilEnd = failWith(new Promise<never>(() => undefined));
    expect(await untilEnd(Promise.resolve(7))).toBe(7);
    await expect(untilEnd(Promise.reject(new Error("no row")))).rejects.toThrow("no row");
  });

  it("fails with it, whether it began before or after", async () => {
    let fail: (reason: Error) => void = () => undefined;
    const untilEnd = failWith(
      new Promise<never>((_, reject) => {
        fail = reject;
      }),
    );
    const begun = untilEnd(new Promise(() => undefined));
    fail(new Error("the connection is gone"));
    await expect(begun).rejects.toThrow("gone");
    await expect(untilEnd(new Promise(() => undefined))).rejects.toThrow("gone");
    // What fails afterwards is nobody's unhandled rejection.
    await expect(untilEnd(Promise.reject(new Error("too late")))).rejects.toThrow("gone");
  });

  it("is not held by it", async () => {
    const untilEnd = failWith(new Promise<never>(() => undefined));
    const results: WeakRef<object>[] = [];
    for (let index = 0; index < 50; index += 1) {
      const result = {};
      results.push(new WeakRef(result));
      await untilEnd(Promise.resolve(result));
    }
    await vi.waitFor(() => {
      collectGarbage();
      expect(results.filter((result) => result.deref() !== undefined).length).toBeLessThan(10);
    });
    expect(await untilEnd(Promise.resolve(1))).toBe(1);
  });
});
