import { useParams } from "@tanstack/react-router";
import { ApiError } from "../../api/errors.ts";
import { isMoving, useRun } from "../../api/queries/workflow-runs.ts";
import { Link } from "../../ui/navigation/link.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { Time } from "../../ui/text/time.tsx";
import { ShownRun } from "./shown-run.tsx";

/** One run: its steps, their rows, why they were skipped, and what can be done about a failure. */
export function Page() {
  const { runId = "" } = useParams({ strict: false }) as { readonly runId?: string };
  return <Run key={runId} runId={runId} />;
}

function Run({ runId }: { readonly runId: string }) {
  const { data: run, error, refetch, dataUpdatedAt } = useRun(runId);
  const isUnknown = error instanceof ApiError && error.status === 404;
  const retry = () => void refetch();
  if (run !== undefined) {
    return (
      <>
        <div role="status" className="contents">
          {error !== null && isMoving(run) && (
            <p className="rounded-lg border border-warn bg-warn-soft px-3 py-2">
              The gateway does not answer. This is how the run stood at{" "}
              <Time value={dataUpdatedAt} hasSeconds />; the page goes on by itself.
            </p>
          )}
        </div>
        <ShownRun run={run} asOf={dataUpdatedAt} isStale={error !== null && isMoving(run)} />
      </>
    );
  }
  return (
    <>
      <PageHeader title="Run" />
      {isUnknown && (
        <EmptyState
          title="There is no such run"
          action={<Link to="/workflows">Show the workflows</Link>}
        >
          It is older than WORKFLOW_RUN_RETENTION_DAYS, or its workflow is not shared with you.
        </EmptyState>
      )}
      {!isUnknown && error !== null && (
        <ErrorCard what="The run could not be loaded" error={error} onRetry={retry} />
      )}
      {error === null && <Skeleton shape="block" label="The run is loading" />}
    </>
  );
}
