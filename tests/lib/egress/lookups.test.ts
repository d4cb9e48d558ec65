import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLookups } from "../../../src/lib/egress/lookups.ts";

const { signal } = new AbortController();

describe("lookups of names", () => {
  let asked: string[];
  let open: Map<string, (addresses: readonly string[]) => void>;
  let lookUp: ReturnType<typeof createLookups>;

  beforeEach(() => {
    vi.useFakeTimers();
    asked = [];
    open = new Map();
    lookUp = createLookups((hostname) => {
      asked.push(hostname);
      return new Promise((answer) => open.set(hostname, answer));
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  /** What is asked after a time, by names that wait all the while. */
  const askedAfter = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return asked.join(" ");
  };

  it("wait for each other while they are quick", async () => {
    const first = lookUp("one", signal);
    const second = lookUp("two", signal);
    expect(await askedAfter(100)).toBe("one");
    open.get("one")?.(["192.0.2.1"]);
    expect(await first).toEqual(["192.0.2.1"]);
    expect(await askedAfter(0)).toBe("one two");
    open.get("two")?.(["192.0.2.2"]);
    expect(await second).toEqual(["192.0.2.2"]);
  });

  it("are not held up by names that are not answered, up to the places that are left to calls", async () => {
    for (const name of ["dead", "deader", "healthy", "fourth"]) void lookUp(name, signal);
    expect(await askedAfter(1_000)).toBe("dead deader");
    expect(await askedAfter(1_000)).toBe("dead deader healthy");
    expect(await askedAfter(60_000)).toBe("dead deader healthy");
    open.get("deader")?.([]);
    expect(await askedAfter(0)).toBe("dead deader healthy fourth");
  });

  it("share an answer that is under way, also a failure", async () => {
    const resolve = vi.fn(() => Promise.reject(new Error("there is no such name")));
    const failing = createLookups(resolve);
    const outcomes = await Promise.allSettled([failing("one", signal), failing("one", signal)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    const asks = [lookUp("one", signal), lookUp("one", signal), lookUp("two", signal)];
    expect(await askedAfter(1_000)).toBe("one two");
    open.get("one")?.(["192.0.2.1"]);
    open.get("two")?.(["192.0.2.2"]);
    expect(await Promise.all(asks)).toEqual([["192.0.2.1"], ["192.0.2.1"], ["192.0.2.2"]]);
  });

  it("are not begun for somebody who has left", async () => {
    const leaving = new AbortController();
    void lookUp("one", signal);
    const left = lookUp("two", leaving.signal);
    leaving.abort(new Error("The client left."));
    await Promise.all([expect(left).rejects.toThrow("The client left."), askedAfter(1_000)]);
    expect(asked).toEqual(["one"]);
  });
});
