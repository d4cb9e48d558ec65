import type { WorkflowRun } from "../../api/queries/workflow-runs.ts";
import { RunState } from "../../parts/run-state.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count, Duration } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";

export const RUN_COLUMNS: ReadonlyArray<Column<WorkflowRun>> = [
  {
    id: "at",
    head: "Accepted",
    cell: ({ queued_at: at }) => <Time value={at} hasSeconds />,
    width: "15rem",
  },
  {
    id: "status",
    head: "State",
    cell: ({ status }) => <RunState status={status} />,
    width: "8rem",
  },
  {
    id: "trigger",
    head: "Trigger",
    cell: ({ trigger }) => String(trigger["kind"]),
    width: "7rem",
  },
  {
    id: "rows",
    head: "Rows",
    cell: ({ rowsReceived }) => <Count value={rowsReceived} />,
    isNumber: true,
    width: "6rem",
  },
  {
    id: "took",
    head: "Took",
    cell: (run) => <Duration value={tookMs(run)} />,
    isNumber: true,
    width: "8rem",
  },
  { id: "version", head: "Version", cell: ({ version }) => version, isNumber: true, width: "6rem" },
  {
    id: "failed",
    head: "Failed step",
    cell: ({ failed_step: step, error }) => (
      <span title={messageOf(error)}>{step ?? messageOf(error) ?? "–"}</span>
    ),
  },
];

/** From its first start to its end; null for a run that has no end yet. */
function tookMs({ started_at: start, ended_at: end }: WorkflowRun): number | null {
  return start === null || end === null ? null : Date.parse(end) - Date.parse(start);
}

function messageOf(error: WorkflowRun["error"]): string | undefined {
  const message = error?.["message"];
  return typeof message === "string" ? message : undefined;
}
