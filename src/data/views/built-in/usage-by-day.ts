import type { BuiltInView } from "../data-view.ts";
import { estimateRows, fingerprintTimes, utcDay, withinDay } from "../days.ts";

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
