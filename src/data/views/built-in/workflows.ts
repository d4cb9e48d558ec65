import type { BuiltInView } from "../data-view.ts";

export const workflows: BuiltInView = {
  name: "workflows",
  comment: "Workflows that exist now.",
  columns: [
    {
      name: "id",
      type: "text",
      comment: "Id of the workflow, the workflow_id of other tables.",
      nullable: false,
    },
    { name: "name", type: "text", comment: "Its name.", nullable: false },
    { name: "description", type: "text", comment: "What its owner says about it.", nullable: true },
    {
      name: "enabled",
      type: "boolean",
      comment: "False while its triggers start no runs.",
      nullable: false,
    },
    {
      name: "owner_id",
      type: "text",
      comment: "Id of its owner, as in users; empty once the user is deleted.",
      nullable: true,
    },
    { name: "visibility", type: "text", comment: "private or everyone.", nullable: false },
    {
      name: "key_id",
      type: "text",
      comment: "Id of the API key that its model steps call with, as in keys.",
      nullable: true,
    },
    {
      name: "version",
      type: "integer",
      comment: "Raised by each change of its triggers or steps.",
      nullable: false,
    },
    {
      name: "timeout_seconds",
      type: "integer",
      comment: "Seconds that a run may take.",
      nullable: false,
    },
    {
      name: "runs_accepted",
      type: "bigint",
      comment: "Runs accepted since it was created.",
      nullable: false,
    },
    {
      name: "runs_queued",
      type: "integer",
      comment: "Runs that wait for the running one.",
      nullable: false,
    },
    {
      name: "consecutive_failures",
      type: "integer",
      comment: "Failed runs since the last completed one.",
      nullable: false,
    },
    {
      name: "created_at",
      type: "timestamp with time zone",
      comment: "When it was created.",
      nullable: false,
    },
    {
      name: "updated_at",
      type: "timestamp with time zone",
      comment: "When it was last changed.",
      nullable: false,
    },
  ],
  key: ["id"],
  select: `select workflows.id, workflows.name, workflows.description, workflows.enabled, workflows.owner_id,
    workflows.visibility, workflows.key_id, workflows.version, workflows.timeout_seconds,
    coalesce(workflow_queues.last_number, 0) as runs_accepted, coalesce(workflow_queues.queued, 0) as runs_queued,
    coalesce(workflow_queues.consecutive_failures, 0) as consecutive_failures, workflows.created_at,
    workflows.updated_at
  from workflows left join workflow_queues on workflow_queues.workflow_id = workflows.id`,
  extent: `select count(*) as rows, max(updated_at) as updated_at from workflows`,
  copied: { kind: "whole" },
};
