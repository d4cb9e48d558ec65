/** The calls of one bucket of the histogram. */
export interface LatencyBucket {
  readonly requests: number;
  /** The sum of their latencies. */
  readonly latencyMs: number;
}

export interface LatencyFigures {
  readonly quantiles: Readonly<Record<(typeof QUANTILES)[number], number>>;
  readonly sumMs: number;
  readonly count: number;
}

const QUANTILES = ["0.5", "0.95", "0.99"] as const;

/**
 * Returns the quantiles of latencies, in milliseconds, from a histogram. The quantile of rank `ceil(q * count)` is
 * estimated by the mean of its bucket, so it is within 2 % of the exact value. All are 0 without calls.
 * @param buckets from the fastest to the slowest.
 */
export function latencyFigures(buckets: readonly LatencyBucket[]): LatencyFigures {
  const count = sumOf(buckets, ({ requests }) => requests);
  const sumMs = sumOf(buckets, ({ latencyMs }) => latencyMs);
  const entries = QUANTILES.map(
    (name) => [name, latencyAt(buckets, Number(name) * count)] as const,
  );
  const quantiles = Object.fromEntries(entries) as Record<(typeof QUANTILES)[number], number>;
  return { quantiles, sumMs, count };
}

function latencyAt(buckets: readonly LatencyBucket[], rank: number): number {
  let passed = 0;
  for (const { requests, latencyMs } of buckets) {
    passed += requests;
    if (requests > 0 && passed >= rank) return latencyMs / requests;
  }
  return 0;
}

function sumOf(
  buckets: readonly LatencyBucket[],
  figure: (bucket: LatencyBucket) => number,
): number {
  return buckets.reduce((sum, bucket) => sum + figure(bucket), 0);
}
