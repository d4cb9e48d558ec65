import type { Histogram } from "../lib/histogram.ts";

/** One line of a metric. */
export interface Sample {
  /** `_sum`, `_count` or `_bucket` of a summary or a histogram. */
  readonly suffix?: "_sum" | "_count" | "_bucket";
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * One metric of an area. The values of its labels come from closed lists, never from a model, key, path or user, so the
 * number of lines is bounded. A metric whose figures are not known now has no samples, and is omitted.
 */
export interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly help: string;
  readonly labels: readonly string[];
  /** Reads memory only: figures from elsewhere are brought up to date before, by the `refresh` of their part. */
  readonly read: () => readonly Sample[];
}

/** The sample of a metric without labels; none where the value is not known. */
export function single(value: number | boolean | undefined): readonly Sample[] {
  return value === undefined ? [] : [{ labels: {}, value: Number(value) }];
}

/** A sample for each value of one label; none where the values are not known. */
export function byLabel(
  label: string,
  values: Readonly<Record<string, number>> | undefined,
): readonly Sample[] {
  return Object.entries(values ?? {}).map(([name, value]) => ({
    labels: { [label]: name },
    value,
  }));
}

/** The samples of each item, each with the item's name as one more label. */
export function eachWith<Item>(
  label: string,
  items: Readonly<Record<string, Item>>,
  samplesOf: (item: Item) => readonly Sample[],
): readonly Sample[] {
  return Object.entries(items).flatMap(([name, item]) =>
    samplesOf(item).map((sample) => ({ ...sample, labels: { [label]: name, ...sample.labels } })),
  );
}

export function histogramSamples(histogram: Histogram): readonly Sample[] {
  const counts = histogram.cumulative();
  const bounds = [...histogram.bounds.map(String), "+Inf"];
  return [
    ...counts.map((value, index) => ({
      suffix: "_bucket" as const,
      labels: { le: bounds[index] ?? "+Inf" },
      value,
    })),
    { suffix: "_sum", labels: {}, value: histogram.sum },
    { suffix: "_count", labels: {}, value: counts.at(-1) ?? 0 },
  ];
}
