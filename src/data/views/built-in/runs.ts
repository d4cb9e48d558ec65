import type { BuiltInView } from "../data-view.ts";
import { estimateRows, fingerprintChanges } from "../days.ts";

export const runs: BuiltInView = {
  name: "runs",
  comment: "Runs of workflows, without their rows. Kept as long as the gateway keeps runs.",
  columns: [
    {
      name: "id",
      type: "text",
      comment: "Id of the run, the run_id of other tables.",
      nullable: false,
    },
    {
      name: "day",
      type: "date",
      comment: "The UTC day on which it was accepted. Filter by it: each day is stored by itself.",
      nullable: false,
    },
    {
      name: "workflow_id",
      type: "text",
      comment: "Id of the workflow, as in workflows; that of a deleted one stays.",
      nullable: false,
    },
    {
      name: "workflow_name",
      type: "text",
      comment: "Name of the workflow when the run was accepted.",
      nullable: false,
    },
    {
      name: "owner_id",
      type: "text",
      comment: "Id of the owner of the workflow then, as in users.",
      nullable: true,
    },
    {
      name: "version",
      type: "integer",
      comment: "Version of the workflow that ran.",
      nullable: false,
    },
    {
      name: "number",
      type: "bigint",
      comment: "The number of the run in its workflow.",
      nullable: false,
    },
    {
      name: "status",
      type: "text",
      comment: "queued, running, completed, failed or stopped.",
      nullable: false,
    },
    {
      name: "started_by",
      type: "text",
      comment: "The kind of trigger: manual, webhook, schedule, step, retry or an event.",
      nullable: true,
    },
    { name: "retry_of", type: "text", comment: "Id of the run that it repeats.", nullable: true },
    {
      name: "rows_received",
      type: "bigint",
      comment: "Rows that the trigger brought.",
      nullable: false,
    },
    {
      name: "attempts",
      type: "integer",
      comment: "Times that a worker began it.",
      nullable: false,
    },
    { name: "retries", type: "integer", comment: "Repetitions of its steps.", nullable: false },
    { name: "failed_step", type: "text", comment: "Id of the step that failed.", nullable: true },
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
      name: "queued_at",
      type: "timestamp with time zone",
      comment: "When it was accepted.",
      nullable: false,
    },
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
  key: ["day", "id"],
  select: `select id, day, workflow_id, workflow_name, owner_id, version, number, status, trigger ->> 'kind' as started_by,
    retry_of, rows_received, attempts, retries, failed_step, error ->> 'code' as error_code,
    (usage ->> 'calls')::bigint as calls, (usage ->> 'input_tokens')::bigint as input_tokens,
    (usage ->> 'output_tokens')::bigint as output_tokens, queued_at, started_at, ended_at,
    (extract(epoch from ended_at - started_at) * 1000)::bigint as duration_ms
  from workflow_runs`,
  extent: `select ${estimateRows("workflow_runs")} as rows, greatest(
    (select max(ended_at) from workflow_runs),
    (select max(queued_at) from workflow_runs where day = (select max(day) from workflow_runs))) as updated_at`,
  copied: {
    kind: "days",
    day: "day",
    ofDay: "day = $1::date",
    fingerprints: fingerprintChanges("workflow_runs"),
  },
};
