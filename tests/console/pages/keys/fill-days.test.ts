import { expect, it } from "vitest";
import { fillDays } from "../../../../src/console/pages/keys/fill-days.ts";

it("has a bar for each of the last 30 days, also for those without calls", () => {
  const use = (date: string) => ({ date, input_tokens: 3, output_tokens: 4 });
  const days = [use("2026-10-26"), use("2026-11-24")];
  const filled = fillDays(days, Date.parse("2026-11-24T00:00:05Z"));
  expect(filled.map(({ date }) => date).slice(0, 7)).toEqual([
    ...["2026-10-26", "2026-10-27", "2026-10-28", "2026-10-29", "2026-10-30", "2026-10-31"],
    "2026-11-01",
  ]);
  expect(filled).toHaveLength(30);
  expect(filled[0]).toEqual(use("2026-10-26"));
  expect(filled[1]).toEqual({ date: "2026-10-27", input_tokens: 0, output_tokens: 0 });
  expect(filled.at(-1)).toEqual(use("2026-11-24"));
});
