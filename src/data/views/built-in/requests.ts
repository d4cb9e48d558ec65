import type { BuiltInView } from "../data-view.ts";
import { listDays, utcDay, withinDay } from "../days.ts";
import { TOKENS, USED_CHANNEL, USED_KEY, USED_MODEL } from "../usage-columns.ts";

export const requests: BuiltInView = {
  name: "requests",
  comment:
    "Every metered request, without its content. Kept for USAGE_RETENTION_DAYS (90 unless set). Requests that a limit of their key refused are in refusals.",
  columns: [
    { name: "id", type: "text", comment: "Id of the request.", nullable: false },
    {
      name: "started_at",
      type: "timestamp with time zone",
      comment: "When it began. Filter by it: each UTC day is stored by itself.",
      nullable: false,
    },
    USED_KEY,
    USED_CHANNEL,
    USED_MODEL,
    {
      name: "outcome",
      type: "text",
      comment:
        "ok, error, aborted (the client disconnected) or rate_limited (the model server refused it as too many).",
      nullable: false,
    },
    { name: "success", type: "boolean", comment: "True when it was answered.", nullable: false },
    {
      name: "status",
      type: "integer",
      comment: "The HTTP status that the client received.",
      nullable: false,
    },
    ...TOKENS,
    {
      name: "estimated",
      type: "boolean",
      comment: "True when the gateway counted the tokens because the model server did not.",
      nullable: false,
    },
    {
      name: "latency_ms",
      type: "bigint",
      comment: "Milliseconds until the last byte.",
      nullable: false,
    },
    {
      name: "first_token_ms",
      type: "bigint",
      comment: "Milliseconds until the first token.",
      nullable: true,
    },
    { name: "tool_name", type: "text", comment: "The tool of a call by MCP.", nullable: true },
    {
      name: "assistant_id",
      type: "text",
      comment: "Id of the assistant that answered.",
      nullable: true,
    },
    {
      name: "run_id",
      type: "text",
      comment: "Id of the workflow run that made the call, as in runs.",
      nullable: true,
    },
  ],
  key: ["started_at", "id"],
  select: `select id, started_at, key_id, channel, model, outcome, success, status, input_tokens, output_tokens, cached_tokens,
    reasoning_tokens, estimated, latency_ms, first_token_ms, tool_name, assistant_id, run_id
  from usage_records`,
  extent: `select coalesce(sum(requests), 0)::bigint as rows, (select max(started_at) from usage_records) as updated_at
  from usage_days
  where day >= (select date_trunc('day', min(started_at), 'UTC') from usage_records)`,
  copied: {
    kind: "days",
    day: utcDay("started_at"),
    ofDay: withinDay("started_at"),
    // The sums of a day change with its rows, in the same transaction. A dropped day keeps them, and loses its
    // partition. The partitioned table is not asked: to plan over all of its days takes longer than the rest.
    fingerprints: `select days.day, sums.fingerprint
      from (${listDays("usage_days", "day")}) as days
      cross join lateral (
        select concat_ws(' ', sum(requests), sum(failures), sum(aborted), sum(latency_ms), sum(input_tokens),
          sum(output_tokens)) as fingerprint
        from usage_days where usage_days.day = days.start having count(*) > 0
      ) as sums
      where to_regclass('usage_records_' || to_char(days.day, 'YYYYMMDD')) is not null or (
        select true from usage_records_other
        where started_at >= days.start and started_at < days.start + interval '24 hours' limit 1)`,
  },
};
