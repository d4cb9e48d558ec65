import type { WorkflowRunWithSteps } from "../../api/queries/workflow-runs.ts";
import { countOf, formatDuration, wordFor } from "../../lib/count.ts";
import { Link } from "../../ui/navigation/link.tsx";
import { Count } from "../../ui/text/count.tsx";
import { Fact, Facts } from "../../ui/text/facts.tsx";
import { Time } from "../../ui/text/time.tsx";

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
    <Facts>
      <Fact name="Trigger">{String(run.trigger["kind"])}</Fact>
      <Fact name="Rows received">
        <button
          type="button"
          onClick={onTrigger}
          className="min-h-6 text-accent underline decoration-1 underline-offset-2 hover:decoration-2"
        >
          <Count value={run.rowsReceived} />
          <span className="sr-only">: show them</span>
        </button>
      </Fact>
      <Fact name="Accepted">
        <Time value={run.queued_at} hasSeconds />
      </Fact>
      {waited !== null && waited >= 1_000 && <Fact name="Waited">{formatDuration(waited)}</Fact>}
      {took !== null && <Fact name="Took">{formatDuration(took)}</Fact>}
      <Fact name="Version">{run.version}</Fact>
      {(run.attempts > 1 || run.retries > 0) && (
        <Fact name="Tries">
          {countOf(run.attempts, "worker")}, {countOf(run.retries, "repetition")}
        </Fact>
      )}
      {callsOf(run) > 0 && usage !== null && (
        <Fact name="Models">
          <Count value={callsOf(run)} /> {wordFor(callsOf(run), "call")},{" "}
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
    </Facts>
  );
}

/** How often a run called models. */
export function callsOf({ usage }: Pick<WorkflowRunWithSteps, "usage">): number {
  return Number(usage?.["calls"] ?? 0);
}
