import type { WorkflowRunStep, WorkflowRunWithSteps } from "../../api/queries/workflow-runs.ts";
import { formatDuration } from "../../lib/count.ts";
import { RunState } from "../../parts/run-state.tsx";
import { Table } from "../../ui/tables/table.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count } from "../../ui/text/count.tsx";

export interface StepsProps {
  readonly run: WorkflowRunWithSteps;
  readonly asOf: number;
  readonly isStale: boolean;
  readonly openStep: string;
  readonly onOpen: (step: string) => void;
}

/** The steps of a run as a list. */
export function RunSteps({ run, asOf, isStale, openStep, onOpen }: StepsProps) {
  const columns: ReadonlyArray<Column<WorkflowRunStep>> = [
    { id: "id", head: "Step", cell: ({ id }) => id, width: "11rem" },
    { id: "kind", head: "Kind", cell: ({ kind }) => kind, width: "9rem", isWideOnly: true },
    {
      id: "status",
      head: "State",
      cell: ({ status }) =>
        isStale && status === "running" ? "Unknown" : <RunState status={status} />,
      width: "8rem",
    },
    figure("in", "Rows in", ({ rows_in: rows }) => rows),
    figure("out", "Rows out", ({ rows_out: rows }) => rows),
    figure("errors", "Errors", ({ row_errors: rows }) => rows),
    {
      id: "time",
      head: "Time",
      cell: (step) => timeOfStep(step, asOf) ?? "–",
      isNumber: true,
      width: "7rem",
    },
    {
      id: "why",
      head: "Why",
      cell: (step) => <span title={whyOf(step)}>{whyOf(step) ?? "–"}</span>,
    },
  ];
  return (
    <Table
      label="Steps of the run"
      columns={columns}
      rows={run.steps}
      rowId={({ id }) => id}
      openId={openStep === "" ? undefined : openStep}
      onOpen={onOpen}
    />
  );
}

function figure(
  id: string,
  head: string,
  read: (step: WorkflowRunStep) => number,
): Column<WorkflowRunStep> {
  return {
    ...{ id, head, isNumber: true, width: "6rem" },
    cell: (step) => <Count value={step.status === "pending" ? null : read(step)} />,
  };
}

/** How long a step took, or has been running as of the answer that is shown. */
export function timeOfStep(
  { status, started_at: start, ended_at: end }: WorkflowRunStep,
  asOf: number,
): string | undefined {
  if (start === null) return undefined;
  if (end === null && status !== "running") return undefined;
  const until = end === null ? asOf : Date.parse(end);
  return formatDuration(Math.max(0, until - Date.parse(start)));
}

/** Why a step was skipped, or failed. */
export function whyOf({ skipped_because: skipped, error }: WorkflowRunStep): string | undefined {
  if (skipped !== null) return skipped;
  const message = error?.["message"];
  return typeof message === "string" ? message : undefined;
}
