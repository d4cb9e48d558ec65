import { describe, expect, it } from "vitest";
import type { UsageReport, UsageRow } from "../../../../src/console/api/queries/usage.ts";
import { stackUsage } from "../../../../src/console/pages/usage/stack-usage.ts";

const NOTHING = {
  ...{ requests: 0, ok: 0, failures: 0, rate_limited: 0, aborted: 0, refused: null },
  ...{ input_tokens: 0, output_tokens: 0, cached_tokens: 0, reasoning_tokens: 0 },
  ...{ total_tokens: 0, average_latency_ms: null },
};
const row = (fields: Partial<UsageRow>): UsageRow => ({ ...NOTHING, ...fields });
const report = (group: UsageReport["group"], data: UsageRow[], from = "2026-11-23T00:00:00.000Z") =>
  ({
    ...{ object: "list" as const, from, to: "2026-11-25T00:00:00.000Z", hourly_from: from, group },
    ...{ data, has_more: false, totals: NOTHING },
  }) satisfies UsageReport;

const whole = report(
  ["day"],
  [
    row({ day: "2026-11-23", total_tokens: 10, requests: 3 }),
    row({ day: "2026-11-24", total_tokens: 7, requests: 2 }),
  ],
);
const of = (day: string, key: string, name: string | null, tokens: number) =>
  row({ day, key_id: key, key_name: name, total_tokens: tokens });

describe("usage in stacked bars", () => {
  it("begins with the group that used the most, and ends with the rest", () => {
    const top = report(
      ["day", "key"],
      [
        of("2026-11-23", "key_1", "small", 2),
        of("2026-11-23", "key_2", "large", 5),
        of("2026-11-24", "key_2", "large", 7),
      ],
    );
    expect(stackUsage(whole, top, "total_tokens")).toEqual({
      points: ["23 Nov", "24 Nov"],
      series: [
        { name: "large", values: [5, 7] },
        { name: "small", values: [2, 0] },
        { name: "The rest", values: [3, 0] },
      ],
    });
  });

  it("tells keys of the same name apart, and names what is deleted", () => {
    const top = report(
      ["day", "key"],
      [
        of("2026-11-23", "key_1", "app", 4),
        of("2026-11-23", "key_2", "app", 3),
        of("2026-11-23", "key_3", null, 3),
        of("2026-11-24", "key_1", "app", 7),
      ],
    );
    const names = stackUsage(whole, top, "total_tokens")?.series.map(({ name }) => name);
    expect(names).toEqual(["app", "app (2)", "deleted key key_3"]);
  });

  it("has no rest below nothing when a call comes between the two reports", () => {
    const top = report(["day", "key"], [of("2026-11-24", "key_1", "app", 9)]);
    const series = stackUsage(whole, top, "total_tokens")?.series;
    expect(series?.at(-1)).toEqual({ name: "The rest", values: [10, 0] });
  });

  it("is nothing while one of the reports is still that of another range", () => {
    const hours = report(["hour", "key"], []);
    expect(stackUsage(whole, hours, "total_tokens")).toBeUndefined();
    const older = report(["day", "key"], [], "2026-10-01T00:00:00.000Z");
    expect(stackUsage(whole, older, "total_tokens")).toBeUndefined();
  });
});
