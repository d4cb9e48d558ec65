import type { BuiltInView } from "../data-view.ts";
import { estimateRows, fingerprintChanges } from "../days.ts";

export const runSteps: BuiltInView = {
  name: "run_steps",
  comment: "Steps of runs, without their rows. Kept as long as their runs.",
  columns: [
    { name: "run_id", type: "text", comment: "Id of the run, as in runs.", nullable: false },
    {
      name: "day",
      type: "date",
      comment: "The UTC day of the run. Filter by it: each day is stored by itself.",
      nullable: false,
    },
    { name: "step_id", type: "text", comment: "Id of the step in the workflow.", nullable: false },
    {
      name: "position",
      type: "integer",
      comment: "Its place in the workflow, from 0.",
      nullable: false,
    },
    { name: "kind", type: "text", comment: "The kind of step.", nullable: false },
    {
      name: "status",
      type: "text",
      comment: "pending, running, completed, failed, stopped or skipped.",
      nullable: false,
    },
    { name: "attempts", type: "integer", comment: "Times that it was begun.", nullable: false },
    { name: "rows_in", type: "bigint", comment: "Rows that it received.", nullable: false },
    { name: "rows_out", type: "bigint", comment: "Rows that it passed on.", nullable: false },
    { name: "row_errors", type: "bigint", comment: "Rows that failed in it.", nullable: false },
    {
      name: "error_code",
      type: "text",
      comment: "Code of the error that ended it.",
      nullable: true,
    },
    { name: "calls", type: "bigint", comment: "Calls of models.", nullable: true },
    { name: "input_tokens", type: "bigint", comment: "Tokens of their prompts.", nullable: true },
    { name: "output_tokens", type: "bigint", comment: "Tokens of their answers.", nullable: true },
    {
      name: "started_at",
      type: "timestamp with time zone",
      comment: "When it began.",
      nullable: true,
    },
    {
      name: "ended_at",
      type: "timestamp with time zone",
      comment: "When it ended.",
      nullable: true,
    },
    {
      name: "duration_ms",
      type: "bigint",
      comment: "Milliseconds from its beginning to its end.",
      nullable: true,
    },
  ],
  key: ["day", "run_id", "step_id"],
  select: `select run_id, day, step_id, position, kind, status, attempts, rows_in, rows_out, row_errors,
    error ->> 'code' as error_code, (usage ->> 'calls')::bigint as calls, (usage ->> 'input_tokens')::bigint as input_tokens,
    (usage ->> 'output_tokens')::bigint as output_tokens, started_at, ended_at,
    (extract(epoch from ended_at - started_at) * 1000)::bigint as duration_ms
  from workflow_steps`,
  extent: `select ${estimateRows("workflow_steps")} as rows, (
    select max(coalesce(ended_at, started_at)) from workflow_steps
    where day >= (select max(day) - 1 from workflow_steps)) as updated_at`,
  copied: {
    kind: "days",
    day: "day",
    ofDay: "day = $1::date",
    fingerprints: fingerprintChanges("workflow_steps"),
  },
};
