import type { BuiltInView } from "../data-view.ts";
import { estimateRows, listDays, utcDay, withinDay } from "../days.ts";
import { USAGE_SUMS, USED_CHANNEL, USED_KEY, USED_MODEL } from "../usage-columns.ts";

export const usageByHour: BuiltInView = {
  name: "usage_by_hour",
  comment:
    "Usage by hour, key, model and channel. After USAGE_RETENTION_DAYS (90 unless set) the hours of a UTC day are added up into its first hour.",
  columns: [
    {
      name: "hour",
      type: "timestamp with time zone",
      comment: "Start of the hour, UTC; of a day past the retention, start of the day.",
      nullable: false,
    },
    USED_KEY,
    USED_MODEL,
    USED_CHANNEL,
    ...USAGE_SUMS,
  ],
  key: ["hour", "key_id", "model", "channel"],
  select: `select hour, key_id, model, channel, requests, failures, rate_limited, aborted, input_tokens, output_tokens, cached_tokens, reasoning_tokens,
    latency_ms as latency_ms_sum
  from usage_hours`,
  extent: `select ${estimateRows("usage_hours")} as rows, (select max(hour) from usage_hours) as updated_at`,
  copied: {
    kind: "days",
    day: utcDay("hour"),
    ofDay: withinDay("hour"),
    // The sums by day change in the same transaction as those by hour and are fewer. Folding changes only the hours.
    fingerprints: `select days.day, sums.fingerprint
      from (${listDays("usage_hours", "hour")}) as days
      cross join lateral (
        select concat_ws(' ', sum(requests), sum(failures), sum(rate_limited), sum(aborted), sum(latency_ms),
          sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(reasoning_tokens), exists (
            select from usage_hours where hour > days.start and hour < days.start + interval '24 hours'
          )) as fingerprint
        from usage_days where usage_days.day = days.start having count(*) > 0
      ) as sums`,
  },
};
