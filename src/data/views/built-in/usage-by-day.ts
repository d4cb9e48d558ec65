import type { BuiltInView } from "../data-view.ts";
import { estimateRows, fingerprintTimes, utcDay, withinDay } from "../days.ts";
import { USAGE_SUMS, USED_CHANNEL, USED_KEY, USED_MODEL } from "../usage-columns.ts";

export const usageByDay: BuiltInView = {
  name: "usage_by_day",
  comment: "Usage by UTC day, key, model and channel. Kept permanently.",
  columns: [
    { name: "day", type: "date", comment: "The UTC day.", nullable: false },
    {
      name: "day_start",
      type: "timestamp with time zone",
      comment: "Start of the UTC day, for charts by time. Filter by it, which is the fastest.",
      nullable: false,
    },
    USED_KEY,
    USED_MODEL,
    USED_CHANNEL,
    ...USAGE_SUMS,
  ],
  key: ["day_start", "key_id", "model", "channel"],
  select: `select ${utcDay("day")} as day, day as day_start, key_id, model, channel, requests, failures, rate_limited, aborted, input_tokens, output_tokens, cached_tokens, reasoning_tokens,
    latency_ms as latency_ms_sum
  from usage_days`,
  extent: `select ${estimateRows("usage_days")} as rows, (select max(day) from usage_days) as updated_at`,
  copied: {
    kind: "days",
    day: "day",
    ofDay: withinDay("day_start"),
    fingerprints: fingerprintTimes({
      table: "usage_days",
      time: "usage_days.day",
      sums:
        "count(*), sum(requests), sum(failures), sum(rate_limited), sum(aborted), sum(latency_ms), " +
        "sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(reasoning_tokens)",
    }),
  },
};
