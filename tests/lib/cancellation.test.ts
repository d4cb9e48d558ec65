import { describe, expect, it } from "vitest";
import { Cancellation, toAbortSignal } from "../../src/lib/cancellation.ts";

describe("a cancellation", () => {
  it("calls each listener once, with the first reason, and none that was removed", () => {
    const cancellation = new Cancellation();
    const called: unknown[] = [];
    const removed = () => called.push("removed");
    cancellation.addEventListener("abort", () => called.push(cancellation.reason));
    cancellation.addEventListener("abort", removed);
    cancellation.removeEventListener("abort", removed);
    cancellation.throwIfAborted();
    cancellation.abort("first");
    cancellation.abort("second");
    expect(called).toEqual(["first"]);
    expect([cancellation.aborted, cancellation.reason]).toEqual([true, "first"]);
    expect(() => cancellation.throwIfAborted()).toThrow("first");
  });

  it("has the reason of an `AbortController` that is given none", () => {
    const cancellation = new Cancellation();
    cancellation.abort();
    expect(cancellation.reason).toMatchObject({ name: "AbortError" });
  });

  it("is one true signal for libraries, before its abort and after it", () => {
    const early = new Cancellation();
    const signal = toAbortSignal(early);
    expect(toAbortSignal(early)).toBe(signal);
    expect(signal.aborted).toBe(false);
    const late = new Cancellation();
    for (const each of [early, late]) each.abort("over");
    for (const each of [signal, toAbortSignal(late)]) {
      expect([each.aborted, each.reason]).toEqual([true, "over"]);
    }
  });

  it("leaves a true signal as it is", () => {
    const { signal } = new AbortController();
    expect(toAbortSignal(signal)).toBe(signal);
  });
});
