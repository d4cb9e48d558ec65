import type { Workflow } from "../../../api/queries/workflows.ts";
import { formatExact } from "../../../lib/count.ts";
import type { JsonValue } from "../../../lib/json/json-schema.ts";
import { describeTrigger } from "../../../lib/trigger-words.ts";
import { UserName } from "../../../parts/accounts/user-name.tsx";
import { RunState } from "../../../parts/run-state.tsx";
import { Link } from "../../../ui/navigation/link.tsx";
import { Badge } from "../../../ui/status/badge.tsx";
import { Fact, Facts } from "../../../ui/text/facts.tsx";
import { Time } from "../../../ui/text/time.tsx";
import { nextTime } from "../list/workflow-columns.tsx";

/** How a saved workflow stands: what starts it, what waits, how its last run ended. */
export function SavedFacts({ workflow }: { readonly workflow: Workflow }) {
  const { last_run: run, queued, max_queued: most, consecutive_failures: failures } = workflow;
  const triggers = workflow.triggers.map((trigger) => describeTrigger(trigger as JsonValue));
  const discarded = Object.entries(workflow.discarded);
  const next = nextTime(workflow);
  return (
    <Facts>
      <Fact name="Triggers">{triggers.join(", ") || "by hand"}</Fact>
      {next !== null && (
        <Fact name="Next time">
          <Time value={next} isRelative />
        </Fact>
      )}
      <Fact name="Queue">
        {formatExact(queued)} of {formatExact(most)}
      </Fact>
      <Fact name="Last run">
        {run === null ? (
          "never"
        ) : (
          <Link to={`/runs/${run.run_id}`} className="inline-flex gap-2 hover:underline">
            <RunState status={run.status} />
            <Time value={run.ended_at ?? run.queued_at} isRelative />
          </Link>
        )}
      </Fact>
      {failures > 0 && (
        <Fact name="Failed runs">
          <Badge tone="bad">{formatExact(failures)} in a row</Badge>
        </Fact>
      )}
      {discarded.length > 0 && (
        <Fact name="Discarded triggers">
          {discarded.map(([reason, count]) => `${formatExact(Number(count))} ${reason}`).join(", ")}
        </Fact>
      )}
      <Fact name="Owner">
        {workflow.owner_id === null ? "nobody" : <UserName id={workflow.owner_id} />}
        {workflow.visibility === "everyone" && ", shared with everyone"}
      </Fact>
    </Facts>
  );
}
