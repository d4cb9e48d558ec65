import type { ConnectionTrial } from "../../api/queries/connections.ts";
import { countOf } from "../../lib/count.ts";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { Duration } from "../../ui/text/count.tsx";

/** What a test of a connection has shown. */
export function TrialResult({ trial }: { readonly trial: ConnectionTrial }) {
  if (!trial.ok) {
    return (
      <div role="status" className="grid gap-1 rounded-lg border border-line bg-bad-soft p-3">
        <StatusDot tone="bad">It does not work</StatusDot>
        <p className="break-words">{trial.error}</p>
      </div>
    );
  }
  const tables = countOf(trial.tables ?? 0, "table or view", "tables and views");
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-3 rounded-lg border border-line bg-ok-soft p-3"
    >
      <StatusDot tone="ok">It works</StatusDot>
      <span>
        {tables} · version {trial.server_version ?? "unknown"} ·{" "}
        <Duration value={trial.latency_ms} />
      </span>
    </div>
  );
}
