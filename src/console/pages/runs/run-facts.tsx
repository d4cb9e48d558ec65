import type { ReactNode } from "react";
import type { WorkflowRunWithSteps } from "../../api/queries/workflow-runs.ts";
import { formatDuration, formatExact } from "../../lib/count.ts";
import { Button } from "../../ui/button.tsx";
import { Count } from "../../ui/count.tsx";
import { Link } from "../../ui/link.tsx";
import { Time } from "../../ui/time.tsx";

interface RunFactsProps {
  readonly run: WorkflowRunWithSteps;
  readonly onTrigger: () => void;
}

/** What started a run, when, and what it used. */
export function RunFacts({ run, onTrigger }: RunFactsProps) {
  const { started_at: start, ended_at: end, usage, retry_of: retryOf, chain } = run;
  const took = start === null || end === null ? null : Date.parse(end) - Date.parse(start);
  const waited = start === null ? null : Date.parse(start) - Date.parse(run.queued_at);
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-2">
      <Fact name="Trigger">{String(run.trigger["kind"])}</Fact>
      <Fact name="Rows received">
        <span className="inline-flex items-center gap-2">
          <Count value={run.rowsReceived} />
          <Button look="quiet" onClick={onTrigger}>
            Show input
          </Button>
        </span>
      </Fact>
      <Fact name="Accepted">
        <Time value={run.queued_at} hasSeconds />
      </Fact>
      {waited !== null && waited >= 1_000 && <Fact name="Waited">{formatDuration(waited)}</Fact>}
      {took !== null && <Fact name="Took">{formatDuration(took)}</Fact>}
      <Fact name="Version">{run.version}</Fact>
      {(run.attempts > 1 || run.retries > 0) && (
        <Fact name="Tries">
          {formatExact(run.attempts)} workers, {formatExact(run.retries)} repetitions
        </Fact>
      )}
      {usage !== null && (
        <Fact name="Models">
          <Count value={Number(usage["calls"] ?? 0)} /> calls,{" "}
          <Count value={Number(usage["input_tokens"] ?? 0)} /> tokens in,{" "}
          <Count value={Number(usage["output_tokens"] ?? 0)} /> out
        </Fact>
      )}
      {retryOf !== null && (
        <Fact name="Retry of">
          <Link to={`/runs/${retryOf}`}>the run before</Link>
          {run.retry_from !== null && `, from ${run.retry_from}`}
        </Fact>
      )}
      {chain.length > 0 && (
        <Fact name="Led to by">
          {chain.map((id) => (
            <Link key={id} to={`/workflows/${id}`} className="mr-2 break-all underline">
              {id}
            </Link>
          ))}
        </Fact>
      )}
      {run.rows_dropped && <Fact name="Rows">deleted by keep_rows or their age</Fact>}
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="grid min-w-0 max-w-md content-start gap-0.5">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  );
}
