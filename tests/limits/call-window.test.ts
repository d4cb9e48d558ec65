import { describe, expect, it } from "vitest";
import { CallWindow } from "../../src/limits/key-counters.ts";
import { WINDOW_MS } from "../../src/limits/limits.ts";
import { createRandom } from "../support/faults/random.ts";

/** When one more call passes, given the times of those in the window, oldest first. */
function opensInMs(times: readonly number[], now: number, limit: number): number {
  const lastToLeave = times[times.length - limit];
  return lastToLeave === undefined ? 0 : lastToLeave + WINDOW_MS - now;
}

/** Bursts within a millisecond, steady calls, and silences that may be longer than the window. */
function pauseMs(random: () => number): number {
  const pace = random();
  if (pace < 0.5) return 0;
  return Math.floor(random() * (pace < 0.999 ? 400 : 2 * WINDOW_MS));
}

describe("the window of the last 60 seconds", () => {
  it("tells what a list of all times tells, over 10,000 random steps", () => {
    const random = createRandom(20_261_015);
    const window = new CallWindow();
    let times: number[] = [];
    let now = 1_790_000_000_000;
    for (let step = 0; step < 10_000; step += 1) {
      now += pauseMs(random);
      if (random() < 0.7) {
        window.add(now);
        times.push(now);
      }
      // One that was refused after all; its time may have left the window.
      if (random() < 0.1) {
        const [removed = 0] = times.splice(Math.floor(random() * times.length), 1);
        window.remove(removed);
      }
      window.remove(now - WINDOW_MS - Math.floor(random() * 1_000));
      times = times.filter((time) => time > now - WINDOW_MS);
      const last = times.at(-1);
      expect(window.callsAt(now)).toBe(times.length);
      expect(window.emptiesInMs(now)).toBe(last === undefined ? 0 : last + WINDOW_MS - now);
      for (const limit of [1, 2, Math.max(1, times.length), times.length + 1])
        expect(window.opensInMs(now, limit)).toBe(opensInMs(times, now, limit));
    }
  });

  it("counts a million calls of one minute, and loses them all at once", () => {
    const window = new CallWindow();
    for (let call = 0; call < 1_000_000; call += 1) window.add(Math.floor(call / 20));
    expect(window.callsAt(WINDOW_MS - 1)).toBe(1_000_000);
    expect(window.callsAt(WINDOW_MS)).toBe(1_000_000 - 20);
    expect(window.opensInMs(WINDOW_MS, 10)).toBe(49_999);
    expect(window.callsAt(WINDOW_MS + 49_999)).toBe(0);
  });
});
