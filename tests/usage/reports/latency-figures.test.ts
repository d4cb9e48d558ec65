import { describe, expect, it } from "vitest";
import { latencyFigures } from "../../../src/usage/reports/latency-figures.ts";

const bucketOf = (ms: number) => Math.round(50 * Math.log(1 + ms));

/** As the database sums them up. */
function histogramOf(latencies: readonly number[]) {
  const buckets = new Map<number, { requests: number; latencyMs: number }>();
  for (const ms of latencies) {
    const { requests, latencyMs } = buckets.get(bucketOf(ms)) ?? { requests: 0, latencyMs: 0 };
    buckets.set(bucketOf(ms), { requests: requests + 1, latencyMs: latencyMs + ms });
  }
  return [...buckets].sort(([one], [other]) => one - other).map(([, bucket]) => bucket);
}

describe("latencies of a day", () => {
  it("are all 0 when there was no call", () => {
    expect(latencyFigures([])).toEqual({
      quantiles: { "0.5": 0, "0.95": 0, "0.99": 0 },
      sumMs: 0,
      count: 0,
    });
  });

  it("of one call are that call's, to the millisecond", () => {
    expect(latencyFigures(histogramOf([1_234]))).toEqual({
      quantiles: { "0.5": 1_234, "0.95": 1_234, "0.99": 1_234 },
      sumMs: 1_234,
      count: 1,
    });
  });

  it("of two calls have the faster one as median", () => {
    expect(latencyFigures(histogramOf([9_000, 10])).quantiles).toEqual({
      "0.5": 10,
      "0.95": 9_000,
      "0.99": 9_000,
    });
  });

  it("are within two hundredths of the exact quantiles, whatever their size", () => {
    // A long tail, from some milliseconds to minutes.
    const latencies = Array.from({ length: 5_000 }, (_, index) =>
      Math.round(Math.exp(1 + ((index * 7_919) % 5_000) / 450)),
    );
    const sorted = [...latencies].sort((one, other) => one - other);
    const { quantiles, count, sumMs } = latencyFigures(histogramOf(latencies));
    for (const [name, value] of Object.entries(quantiles)) {
      const exact = sorted[Math.ceil(Number(name) * sorted.length) - 1] ?? 0;
      expect(Math.abs(value - exact) / exact, name).toBeLessThan(0.02);
    }
    expect(count).toBe(5_000);
    expect(sumMs).toBe(latencies.reduce((sum, ms) => sum + ms, 0));
  });
});
