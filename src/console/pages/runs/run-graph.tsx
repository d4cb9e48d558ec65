import type { WorkflowRunStep } from "../../api/queries/workflow-runs.ts";
import { formatCount, wordFor } from "../../lib/count.ts";
import type { JsonValue } from "../../lib/json/json-schema.ts";
import { describeTrigger } from "../../lib/trigger-words.ts";
import { type FlowStep, MAIN, outputsOf } from "../../lib/workflow-graph.ts";
import type { FlowNote } from "../../parts/flow/flow-nodes.tsx";
import { LazyGraph } from "../../parts/flow/lazy-graph.tsx";
import { toneOfRun, wordOfRun } from "../../parts/run-state.tsx";
import { type StepsProps, timeOfStep } from "./run-steps.tsx";

interface RunGraphProps extends StepsProps {
  /** Of the run's version. */
  readonly steps: readonly FlowStep[];
  readonly triggers: readonly unknown[];
}

/** The steps of a run as a picture with their states and rows. */
export function RunGraph({ run, asOf, isStale, steps, triggers, openStep, onOpen }: RunGraphProps) {
  const byId = new Map(run.steps.map((step) => [step.id, step]));
  const { kind } = run.trigger;
  const own = triggers.filter((trigger) => (trigger as { kind?: unknown }).kind === kind);
  const shown = own.length === 1 ? describeTrigger(own[0] as JsonValue) : String(kind);
  return (
    <LazyGraph
      label="Graph of the run"
      steps={steps}
      triggers={[shown]}
      outputsOf={(step) =>
        outputsOf(
          step,
          steps,
          (byId.get(step.id)?.outputs ?? []).map(({ name }) => String(name)),
        )
      }
      noteOf={({ id }) => {
        const step = byId.get(id);
        return step && noteOf(step, asOf, isStale);
      }}
      rowsOf={({ step, output }) => rowsOf(byId.get(step), output)}
      selected={steps.find(({ id }) => id === openStep)?.at}
      onSelect={(at) => onOpen(steps[at]?.id ?? "")}
      onTrigger={() => onOpen("$trigger")}
    />
  );
}

function noteOf(step: WorkflowRunStep, asOf: number, isStale: boolean): FlowNote {
  const { status, row_errors: errors } = step;
  if (isStale && status === "running") return { tone: "plain", text: "Unknown" };
  return {
    tone: toneOfRun(status),
    text: wordOfRun(status),
    detail: timeOfStep(step, asOf),
    errors: errors === 0 ? undefined : `${formatCount(errors)} ${wordFor(errors, "error")}`,
    isBad: status === "failed",
  };
}

function rowsOf(step: WorkflowRunStep | undefined, output: string): string | undefined {
  if (step === undefined || step.status === "pending" || step.status === "skipped")
    return undefined;
  const found = step.outputs.find(({ name }) => name === output)?.["rows"];
  const known = output === MAIN ? step.rows_out : 0;
  const rows = typeof found === "number" ? found : known;
  return formatCount(rows);
}
