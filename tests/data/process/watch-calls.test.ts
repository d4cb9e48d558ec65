import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { watchCalls } from "../../../src/data/process/watch-calls.ts";

const LOOK_MS = 250;

describe("what the data process is told of calls", () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }),
  );
  afterEach(() => void vi.useRealTimers());

  /** Moves the time by looks, and returns what was told meanwhile. */
  function watch(clients: () => number) {
    const told: (number | null)[] = [];
    const end = watchCalls({ clients, tell: (lateMs) => told.push(lateMs) });
    const look = (looks: number) => {
      vi.advanceTimersByTime(looks * LOOK_MS);
      return told.splice(0);
    };
    return { look, end };
  }

  test("is nothing while there are none", () => {
    const { look, end } = watch(() => 0);
    expect(look(20)).toEqual([]);
    end();
  });

  test("is how late the server is, for a second after the last one was seen, and then that they have ended", () => {
    let open = 3;
    const { look, end } = watch(() => open);
    expect(look(2)).toEqual([0, 0]);
    open = 0;
    expect(look(3)).toEqual([0, 0, 0]);
    expect(look(10)).toEqual([null]);
    open = 1;
    expect(look(1)).toEqual([0]);
    end();
    expect(look(4)).toEqual([]);
  });
});
