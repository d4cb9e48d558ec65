import type { BuiltInView } from "../data-view.ts";
import { estimateRows, listDays, utcDay, withinDay } from "../days.ts";

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
    {
      name: "key_id",
      type: "text",
      comment: "Id of the API key, as in keys; that of a deleted key stays.",
      nullable: false,
    },
    { name: "model", type: "text", comment: "The model that was called.", nullable: false },
    {
      name: "channel",
      type: "text",
      comment: "The kind of call: chat, messages, responses, embeddings, audio or mcp.",
      nullable: false,
    },
    { name: "requests", type: "bigint", comment: "Metered requests.", nullable: false },
    {
      name: "failures",
      type: "bigint",
      comment:
        "Requests that were not answered: by an error, or refused by the model server as too many.",
      nullable: false,
    },
    {
      name: "rate_limited",
      type: "bigint",
      comment: "The failures that the model server refused as too many.",
      nullable: false,
    },
    {
      name: "aborted",
      type: "bigint",
      comment: "Requests whose client disconnected.",
      nullable: false,
    },
    { name: "input_tokens", type: "bigint", comment: "Tokens of the prompts.", nullable: false },
    { name: "output_tokens", type: "bigint", comment: "Tokens of the answers.", nullable: false },
    {
      name: "cached_tokens",
      type: "bigint",
      comment: "Input tokens that the model server had in its cache; part of input_tokens.",
      nullable: false,
    },
    {
      name: "reasoning_tokens",
      type: "bigint",
      comment: "Output tokens of reasoning; part of output_tokens.",
      nullable: false,
    },
    {
      name: "latency_ms_sum",
      type: "bigint",
      comment: "Sum of the latencies, milliseconds; divided by requests it is the mean.",
      nullable: false,
    },
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
