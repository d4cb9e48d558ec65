import type { BuiltInView } from "../data-view.ts";
import { estimateRows, fingerprintTimes, utcDay, withinDay } from "../days.ts";
import { USED_CHANNEL } from "../usage-columns.ts";

export const refusals: BuiltInView = {
  name: "refusals",
  comment:
    "Calls that a limit of their key refused, by hour, key, channel and limit. They are in no other table. After USAGE_RETENTION_DAYS (90 unless set) the hours of a UTC day are added up into its first hour.",
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
      comment: "Id of the API key, as in keys; `other` adds up keys beyond 10,000 at once.",
      nullable: false,
    },
    USED_CHANNEL,
    {
      name: "code",
      type: "text",
      comment: "The error code that the caller received, which names the limit.",
      nullable: false,
    },
    { name: "refusals", type: "bigint", comment: "Refused calls.", nullable: false },
  ],
  key: ["hour", "key_id", "channel", "code"],
  select: `select hour, key_id, channel, code, refusals from limit_refusals`,
  extent: `select ${estimateRows("limit_refusals")} as rows, (select max(hour) from limit_refusals) as updated_at`,
  copied: {
    kind: "days",
    day: utcDay("hour"),
    ofDay: withinDay("hour"),
    fingerprints: fingerprintTimes({
      table: "limit_refusals",
      time: "hour",
      sums: "count(*), sum(refusals), sum(refusals * extract(hour from hour at time zone 'UTC'))",
    }),
  },
};
