import { describe, expect, it } from "vitest";
import { histogramSamples, type Metric, single } from "../../../src/core/metric.ts";
import { Histogram } from "../../../src/lib/histogram.ts";
import { renderMetrics } from "../../../src/operations/metrics/render-metrics.ts";

const metric = (more: Partial<Metric>): Metric => ({
  name: "svc_tries",
  type: "gauge",
  help: "Tries.",
  labels: [],
  read: () => single(1),
  ...more,
});
const render = (more: Partial<Metric>) => renderMetrics([metric(more)]);

describe("the text format", () => {
  it("has help, type and a line for each figure", () => {
    expect(render({})).toBe("# HELP svc_tries Tries.\n# TYPE svc_tries gauge\nsvc_tries 1\n");
  });

  it("escapes what would break a line", () => {
    const text = render({
      help: "A \\ and\na new line.",
      read: () => [{ labels: { name: 'say "hi"\\\n' }, value: 2 }],
    });
    expect(text.split("\n")).toEqual([
      "# HELP svc_tries A \\\\ and\\na new line.",
      "# TYPE svc_tries gauge",
      'svc_tries{name="say \\"hi\\"\\\\\\n"} 2',
      "",
    ]);
  });

  it("writes what is no common number as the format wants it", () => {
    const textOf = (value: number) =>
      render({ read: () => single(value) })
        .split(" ")
        .at(-1);
    expect(textOf(Number.POSITIVE_INFINITY)).toBe("+Inf\n");
    expect(textOf(Number.NEGATIVE_INFINITY)).toBe("-Inf\n");
    expect(textOf(Number.NaN)).toBe("NaN\n");
    expect(textOf(1e21)).toBe("1e+21\n");
  });

  it("leaves out a metric whose figures are not known", () => {
    expect(render({ read: () => single(undefined) })).toBe("");
  });

  it("counts a histogram's values up to each bound, and all of them", () => {
    const histogram = new Histogram([0.1, 1]);
    for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value);
    const text = render({ type: "histogram", read: () => histogramSamples(histogram) });
    expect(text.split("\n").slice(2, -1)).toEqual([
      'svc_tries_bucket{le="0.1"} 2',
      'svc_tries_bucket{le="1"} 3',
      'svc_tries_bucket{le="+Inf"} 4',
      "svc_tries_sum 7.65",
      "svc_tries_count 4",
    ]);
  });
});
