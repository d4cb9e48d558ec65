import type { WorkflowRunStep, WorkflowRunWithSteps } from "../../api/queries/workflow-runs.ts";
import { countOf, formatExact } from "../../lib/count.ts";
import { formatJson } from "../../lib/json/json-format.ts";
import type { JsonValue } from "../../lib/json/json-schema.ts";
import { MAIN } from "../../lib/workflow-graph.ts";
import { RunState } from "../../parts/run-state.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { callsOf } from "./run-facts.tsx";
import { timeOfStep, whyOf } from "./run-steps.tsx";
import { StepRows } from "./step-rows.tsx";

interface RunPanelProps {
  readonly run: WorkflowRunWithSteps;
  readonly asOf: number;
  /** A step's id, or `$trigger`. */
  readonly step: string;
  readonly output: string;
  readonly onOutput: (output: string) => void;
  readonly onClose: () => void;
}

/** One step of a run: figures, error and rows; or what the trigger brought. */
export function RunPanel(props: RunPanelProps) {
  const { run, step: name, onClose } = props;
  if (name === "$trigger") {
    return (
      <SidePanel title="Input of the trigger" of={name} onClose={onClose}>
        <CodeBlock label="The trigger" text={formatJson(run.trigger as JsonValue)} />
        <StepRows run={run} step={name} output={MAIN} rows={run.rowsReceived} />
      </SidePanel>
    );
  }
  const step = run.steps.find(({ id }) => id === name);
  return (
    <SidePanel title={name} of={name} onClose={onClose}>
      {step === undefined ? (
        <p className="text-muted">The run has no such step.</p>
      ) : (
        <Step {...props} shown={step} />
      )}
    </SidePanel>
  );
}

function Step({ run, asOf, output, onOutput, shown }: RunPanelProps & { shown: WorkflowRunStep }) {
  const { error, usage } = shown;
  const why = whyOf(shown);
  const names = shown.outputs.map(({ name }) => String(name));
  const chosen = names.includes(output) ? output : (names[0] ?? MAIN);
  const rows = Number(shown.outputs.find(({ name }) => name === chosen)?.["rows"] ?? 0);
  const row = error?.["row"];
  return (
    <>
      <PropertyList
        properties={[
          ["State", <RunState key="state" status={shown.status} />],
          ["Kind", shown.kind],
          [shown.status === "skipped" ? "Skipped because" : "Why", why],
          ["At row", typeof row === "number" ? formatExact(row) : undefined],
          ["Code", error === null ? undefined : String(error["code"])],
          ["Rows in", formatExact(shown.rows_in)],
          ["Rows out", formatExact(shown.rows_out)],
          ["Row errors", formatExact(shown.row_errors)],
          ["Began", <Time key="began" value={shown.started_at} hasSeconds instead="not yet" />],
          ["Time", timeOfStep(shown, asOf)],
          ["Tries", formatExact(shown.attempts)],
          [
            "Models",
            callsOf(shown) === 0 || usage === null
              ? undefined
              : [
                  countOf(Number(usage["calls"]), "call"),
                  `${countOf(Number(usage["input_tokens"]), "token")} in`,
                  `${formatExact(Number(usage["output_tokens"]))} out`,
                ].join(", "),
          ],
        ]}
      />
      {names.length > 1 && (
        <Select
          label="Output"
          value={chosen}
          onChange={onOutput}
          choices={names.map((name) => ({ value: name, label: `Output ${name}` }))}
        />
      )}
      {names.length > 0 && (
        <StepRows key={chosen} run={run} step={shown.id} output={chosen} rows={rows} />
      )}
    </>
  );
}
