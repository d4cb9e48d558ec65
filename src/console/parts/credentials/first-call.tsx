import { useNextCall, type WatchedCalls } from "../../api/queries/first-call.ts";
import { formatDuration } from "../../lib/count.ts";
import { Link } from "../../ui/navigation/link.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";

interface FirstCallProps {
  readonly watched: WatchedCalls;
  /** What is waited for: "the first call" or "a call". */
  readonly what?: string;
}

const OUTCOMES = {
  ok: "answered",
  error: "failed",
  aborted: "its client left",
  rate_limited: "refused by the model's server",
} as const;

/** Waits for a call to arrive, and says how it ended. */
export function FirstCall(props: FirstCallProps) {
  // Another key is another wait.
  return <Wait key={JSON.stringify(props.watched)} {...props} />;
}

function Wait({ watched, what = "the first call" }: FirstCallProps) {
  const { call, error } = useNextCall(watched);
  if (call === undefined) {
    return (
      <div role="status" className="grid gap-1">
        <StatusDot tone={error === null ? "accent" : "warn"}>
          {error === null ? `Waiting for ${what}…` : `The gateway does not answer. Still waiting…`}
        </StatusDot>
        <span className="text-sm text-muted">
          A call with a wrong key or over a limit is refused and does not show here. Its client says
          why.
        </span>
      </div>
    );
  }
  const { id, success, status, latency_ms: latency, outcome, model, tool_name: tool } = call;
  return (
    <div role="status" className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <StatusDot tone={success ? "ok" : "bad"}>
        <strong className="font-medium">
          {status} in {formatDuration(latency)}
        </strong>
      </StatusDot>
      <span className="break-all text-muted">{tool ?? model}</span>
      {!success && <span>{OUTCOMES[outcome]}. Waiting for another…</span>}
      <Link to={`/requests/${id}`}>Show the request</Link>
    </div>
  );
}
