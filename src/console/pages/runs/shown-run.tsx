import type { WorkflowRunWithSteps } from "../../api/queries/workflow-runs.ts";
import { useWorkflowVersion } from "../../api/queries/workflows.ts";
import { formatDuration } from "../../lib/count.ts";
import type { JsonValue } from "../../lib/json/json-schema.ts";
import { readSteps } from "../../lib/workflow-graph.ts";
import { RunState } from "../../parts/run-state.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { useOpenPart, useUrlState } from "../../ui/navigation/use-url-state.ts";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { SMALL, useMedia } from "../../ui/use-media.ts";
import { RunActions } from "./run-actions.tsx";
import { RunError } from "./run-error.tsx";
import { RunFacts } from "./run-facts.tsx";
import { RunGraph } from "./run-graph.tsx";
import { RunPanel } from "./run-panel.tsx";
import { RunSteps } from "./run-steps.tsx";

export interface ShownRunProps {
  readonly run: WorkflowRunWithSteps;
  /** When it was asked for, in Unix milliseconds. */
  readonly asOf: number;
  /** Later tries to ask for it failed: nobody knows whether it still runs. */
  readonly isStale: boolean;
}

const DEFAULTS = { view: "", step: "", output: "" };

/** A run as graph and list, with the open step beside it. */
export function ShownRun({ run, asOf, isStale }: ShownRunProps) {
  const [state, change] = useUrlState(DEFAULTS);
  const openPart = useOpenPart(DEFAULTS, "step");
  const isSmall = useMedia(SMALL);
  // Without its definition, as of a workflow that is deleted, the steps are a list.
  const { data: version, isPending } = useWorkflowVersion(run.pipelineId, run.version);
  const steps = version == null ? undefined : readSteps(version.steps as JsonValue);

  const view = steps === undefined ? "list" : viewOf(state.view, isSmall);
  const open = (step: string) => openPart({ step, output: "" });
  const shared = { run, asOf, isStale, openStep: state.step, onOpen: open };
  const running = elapsedOf(run, asOf);
  return (
    <>
      <PageHeader
        title={`Run of ${run.workflow_name}`}
        aside={
          <span className="flex flex-wrap items-center gap-3">
            {isStale ? <span>State unknown</span> : <RunState status={run.status} />}
            {running !== undefined && !isStale && <span>{running}</span>}
          </span>
        }
      >
        <RunActions run={run} />
      </PageHeader>
      <RunFacts run={run} onTrigger={() => open("$trigger")} />
      <RunError run={run} onOpen={open} />
      <div className="flex min-w-0 flex-1 items-start gap-4">
        <div className="min-w-0 flex-1">
          {isPending ? (
            <Skeleton shape="block" label="The definition is loading" />
          ) : (
            <Tabs
              label="Views of the run"
              value={view}
              onChange={(next) => change({ view: next })}
              tabs={[
                ...(steps === undefined
                  ? []
                  : [
                      {
                        id: "graph",
                        label: "Graph",
                        content: (
                          <RunGraph {...shared} steps={steps} triggers={version?.triggers ?? []} />
                        ),
                      },
                    ]),
                { id: "list", label: "List", content: <RunSteps {...shared} /> },
              ]}
            />
          )}
        </div>
        {state.step !== "" && (
          <RunPanel
            key={state.step}
            run={run}
            asOf={asOf}
            step={state.step}
            output={state.output}
            onOutput={(output) => change({ output })}
            onClose={() => open("")}
          />
        )}
      </div>
    </>
  );
}

/** How long a run has been running, as of the answer that is shown. */
function elapsedOf({ status, started_at: start }: WorkflowRunWithSteps, asOf: number) {
  if (status !== "running" || start === null) return undefined;
  return formatDuration(Math.max(0, asOf - Date.parse(start)));
}

/** What the address has by hand and is no view counts as none. */
function viewOf(view: string, isSmall: boolean): string {
  if (view === "graph" || view === "list") return view;
  return isSmall ? "list" : "graph";
}
