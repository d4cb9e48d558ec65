import { describe, expect, it } from "vitest";
import {
  searchNewestFirst,
  type TimeRange,
} from "../../../src/usage/reports/search-newest-first.ts";

const DAY_MS = 86_400_000;
const TO = Date.parse("2026-11-21T10:00:00Z");
const RANGE = { from: TO - 60 * DAY_MS, to: TO };

/**
 * Looks into these times, and notes where it was sent. Rows that are not searched for are in each day unless `others`
 * says when they are.
 */
function lookInto(
  times: readonly number[],
  pause: () => Promise<void> = async () => {},
  others?: readonly number[],
) {
  const parts: TimeRange[] = [];
  let askedForEnds = 0;
  const endOfRows = async ({ from, to }: TimeRange) => {
    askedForEnds += 1;
    const within = others?.filter((time) => time >= from && time < to) ?? [to - 1];
    return within.length === 0 ? from : Math.max(...within) + 1;
  };
  const look = async (part: TimeRange, limit: number) => {
    parts.push(part);
    await pause();
    return times.filter((time) => time >= part.from && time < part.to).slice(0, limit);
  };
  return { parts, look, endOfRows, ends: () => askedForEnds };
}

const busy = (ms: number) => async () => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

describe("a search from the newest", () => {
  it("looks at one day when that has enough", async () => {
    const { parts, ...searched } = lookInto([TO - 1, TO - 2, TO - 3]);
    const found = await searchNewestFirst(RANGE, 2, searched);
    expect(found.rows).toEqual([TO - 1, TO - 2]);
    expect(parts).toEqual([{ from: Date.parse("2026-11-21T00:00:00Z"), to: TO }]);
  });

  it("looks everywhere, once, in parts that begin with a day, when there is nothing", async () => {
    const { parts, ...searched } = lookInto([]);
    const found = await searchNewestFirst(RANGE, 1, searched);
    expect(found).toEqual({ rows: [], from: RANGE.from });
    expect(parts.length).toBeLessThan(40);
    expect(parts.at(0)?.to).toBe(RANGE.to);
    expect(parts.at(-1)?.from).toBe(RANGE.from);
    for (const [index, part] of parts.entries()) {
      expect(part.from).toBeLessThan(part.to);
      if (index > 0) expect(part.to).toBe(parts[index - 1]?.from);
      if (index < parts.length - 1) expect(part.from % DAY_MS).toBe(0);
    }
  });

  it("stops when it has taken long, says how far it came, and is gone on with from there", async () => {
    const last = RANGE.from + 5;
    const seen: number[] = [];
    let { to } = RANGE;
    let searches = 0;
    while (to > RANGE.from) {
      const { parts, ...searched } = lookInto([last], busy(60));
      const found = await searchNewestFirst({ from: RANGE.from, to }, 10, searched);
      // A third one would not end in time.
      expect(parts.length).toBeLessThanOrEqual(2);
      expect(found.from).toBeLessThan(to);
      expect(found.from).toBe(parts.at(-1)?.from);
      seen.push(...found.rows);
      to = found.from;
      searches += 1;
    }
    expect(seen).toEqual([last]);
    expect(searches).toBeGreaterThan(10);
  });

  it("passes over days without any rows at once", async () => {
    const monthAgo = TO - 30 * DAY_MS;
    const { parts, ends, ...searched } = lookInto([monthAgo], undefined, [monthAgo]);
    const found = await searchNewestFirst(RANGE, 2, searched);
    expect(found).toEqual({ rows: [monthAgo], from: RANGE.from });
    expect(parts.slice(0, 2)).toEqual([
      { from: Date.parse("2026-11-21T00:00:00Z"), to: TO },
      { from: monthAgo - (monthAgo % DAY_MS) - DAY_MS, to: monthAgo + 1 },
    ]);
    expect(parts.length + ends()).toBeLessThan(6);
  });

  it("asks only once where rows end when the next days have some", async () => {
    const { ends, ...searched } = lookInto([]);
    await searchNewestFirst(RANGE, 1, searched);
    expect(ends()).toBe(1);
  });

  it("takes two days at a time at most, however quiet they are", async () => {
    const { parts, ...searched } = lookInto([]);
    await searchNewestFirst(RANGE, 1, searched);
    const longest = Math.max(...parts.map(({ from, to }) => to - from));
    expect(longest).toBeLessThanOrEqual(2 * DAY_MS);
  });

  /** As `lookInto`, for a database that can look at so much at a time. */
  function lookAtMost(limitMs: number, times: readonly number[]) {
    const { parts, look, endOfRows } = lookInto(times);
    return {
      parts,
      endOfRows,
      look: async (part: TimeRange, limit: number) =>
        part.to - part.from > limitMs ? undefined : look(part, limit),
    };
  }

  it("says what it has found when the next part is too much for one look", async () => {
    const searched = lookAtMost(DAY_MS, [TO - 1, RANGE.from]);
    const found = await searchNewestFirst(RANGE, 2, searched);
    expect(found).toEqual({ rows: [TO - 1], from: Date.parse("2026-11-21T00:00:00Z") });
  });

  it.each([DAY_MS, DAY_MS / 2, 3_600_000, 200_000])(
    "comes through, however little can be looked at: %d ms",
    async (limitMs) => {
      const times = [TO - 1, TO - 3 * 3_600_000, TO - DAY_MS, TO - 2 * DAY_MS];
      const seen: number[] = [];
      let { to } = RANGE;
      const from = TO - 2 * DAY_MS;
      for (let calls = 0; to > from; calls += 1) {
        expect(calls).toBeLessThan(5_000);
        const searched = lookAtMost(limitMs, times);
        const found = await searchNewestFirst({ from, to }, 10, searched);
        expect(found.from).toBeLessThan(to);
        expect(Number.isInteger(found.from)).toBe(true);
        seen.push(...found.rows);
        to = found.from;
      }
      expect(seen).toEqual(times);
    },
  );

  it("gives up where not even a minute can be looked at", async () => {
    const searched = lookAtMost(0, []);
    await expect(searchNewestFirst(RANGE, 1, searched)).rejects.toMatchObject({
      code: "storage_unavailable",
    });
  });

  it("of an empty range looks nowhere", async () => {
    const { parts, ...searched } = lookInto([TO]);
    expect(await searchNewestFirst({ from: TO, to: TO }, 1, searched)).toEqual({
      rows: [],
      from: TO,
    });
    expect(parts).toEqual([]);
  });
});
