import type { WorkflowSummary } from "../../../api/queries/workflows.ts";
import { formatExact } from "../../../lib/count.ts";
import { UserName } from "../../../parts/accounts/user-name.tsx";
import { RunState } from "../../../parts/run-state.tsx";
import { Link } from "../../../ui/navigation/link.tsx";
import { Badge } from "../../../ui/status/badge.tsx";
import { StatusDot } from "../../../ui/status/status-dot.tsx";
import type { Column } from "../../../ui/tables/table-column.ts";
import { Time } from "../../../ui/text/time.tsx";

/** The columns of the list; only administrators see workflows of several owners. */
export function workflowColumns(hasOwner: boolean): ReadonlyArray<Column<WorkflowSummary>> {
  const columns: Array<Column<WorkflowSummary>> = [
    { id: "name", head: "Name", cell: ({ name }) => name },
    {
      id: "owner",
      head: "Owner",
      cell: ({ owner_id: id }) => (id === null ? "nobody" : <UserName id={id} />),
      width: "8rem",
      isWideOnly: true,
    },
    {
      id: "state",
      head: "State",
      cell: ({ enabled }) => (
        <StatusDot tone={enabled ? "ok" : "plain"}>{enabled ? "On" : "Off"}</StatusDot>
      ),
      width: "5rem",
    },
    {
      id: "triggers",
      head: "Triggers",
      cell: ({ trigger_kinds: kinds }) => [...new Set(kinds)].join(", ") || "by hand",
      width: "11rem",
      isWideOnly: true,
    },
    {
      id: "next",
      head: "Next time",
      cell: (workflow) => <Time value={nextTime(workflow)} isRelative instead="–" />,
      width: "8rem",
    },
    { id: "queue", head: "Queue", cell: queueOf, width: "6rem", isWideOnly: true },
    { id: "last", head: "Last run", cell: lastRunOf, width: "13rem" },
    {
      id: "failed",
      head: "Failed runs",
      cell: ({ consecutive_failures: count }) =>
        count > 0 ? <Badge tone="bad">{formatExact(count)} in a row</Badge> : "none",
      width: "8rem",
    },
  ];
  return columns.filter(({ id }) => id !== "owner" || hasOwner);
}

/** The first time of all its schedules. */
export function nextTime({ schedules }: Pick<WorkflowSummary, "schedules">): string | null {
  return schedules.flatMap(({ next }) => next.slice(0, 1)).sort()[0] ?? null;
}

function queueOf({ queued, max_queued: most }: WorkflowSummary) {
  return queued === 0 ? "empty" : `${formatExact(queued)} of ${formatExact(most)}`;
}

function lastRunOf({ last_run: run }: WorkflowSummary) {
  if (run === null) return <span className="text-muted">never</span>;
  return (
    <Link to={`/runs/${run.run_id}`} className="inline-flex gap-2 hover:underline">
      <RunState status={run.status} />
      <Time value={run.ended_at ?? run.queued_at} isRelative />
    </Link>
  );
}
