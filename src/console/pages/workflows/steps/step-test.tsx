import { useState } from "react";
import { loadSampleRows } from "../../../api/queries/workflow-runs.ts";
import { type StepTestResult, useTestStep, type Workflow } from "../../../api/queries/workflows.ts";
import { countOf, formatExact } from "../../../lib/count.ts";
import { formatJson } from "../../../lib/json/json-format.ts";
import type { JsonValue } from "../../../lib/json/json-schema.ts";
import { type FlowSource, type FlowStep, inputName } from "../../../lib/workflow-graph.ts";
import { CodeEditor } from "../../../parts/code-editor.tsx";
import { Button } from "../../../ui/buttons/button.tsx";
import { ErrorCard } from "../../../ui/status/error-card.tsx";
import { CodeBlock } from "../../../ui/text/code-block.tsx";
import { readRows } from "./sample-rows.ts";

interface StepTestProps {
  readonly step: FlowStep;
  readonly workflow: Workflow;
  readonly isDirty: boolean;
  readonly readOnlyReason: string | undefined;
}

const SAMPLES = 10;

/** Runs one step with sample rows, outside any run: sinks only tell what they would do. */
export function StepTest({ step, workflow, isDirty, readOnlyReason }: StepTestProps) {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  // What is typed into another input while rows are fetched stays.
  const setText = (name: string, text: string) => setTexts((now) => ({ ...now, [name]: text }));
  const [failure, setFailure] = useState<unknown>();
  const test = useTestStep(workflow.id, step.id);
  const read = step.inputs.map((source) => ({
    name: inputName(source),
    source,
    ...readRows(texts[inputName(source)] ?? "[{}]"),
  }));
  const wrong = read.find(({ fault }) => fault !== undefined)?.fault?.message;
  const unsaved = isDirty
    ? "Save the workflow first: the step is tested as it is saved."
    : undefined;
  const run = () =>
    test.mutate(
      read.length === 0
        ? { rows: [] }
        : { inputs: Object.fromEntries(read.map(({ name, rows }) => [name, rows])) },
    );
  const lastRun = workflow.last_run?.run_id;
  const take = async (source: FlowSource) => {
    setFailure(undefined);
    try {
      const rows = await loadSampleRows({ runId: lastRun ?? "", ...source }, SAMPLES);
      const text = formatJson(rows as readonly JsonValue[]);
      setText(inputName(source), text);
    } catch (thrown) {
      setFailure(thrown);
    }
  };
  return (
    <section aria-labelledby="step-test" className="grid gap-3">
      <h3 id="step-test" className="font-medium">
        Test with rows
      </h3>
      {read.map(({ name, source, marks }) => (
        <div key={name} className="grid gap-1">
          <span className="flex flex-wrap items-center justify-between gap-2">
            Rows of {name}
            {lastRun !== undefined && (
              <Button look="quiet" onClick={() => void take(source)}>
                Take rows of the last run
              </Button>
            )}
          </span>
          <CodeEditor
            label={`Rows of ${name}`}
            language="json"
            value={texts[name] ?? "[{}]"}
            marks={marks}
            onChange={(text) => setText(name, text)}
          />
        </div>
      ))}
      <div>
        <Button
          isBusy={test.isPending}
          disabledReason={readOnlyReason ?? unsaved ?? wrong}
          onClick={run}
        >
          Test step
        </Button>
      </div>
      {failure !== undefined && (
        <ErrorCard what="The rows of the last run could not be loaded" error={failure} />
      )}
      {test.error !== null && <ErrorCard what="The step was not tested" error={test.error} />}
      {test.data !== undefined && <Result result={test.data} />}
    </section>
  );
}

function Result({ result }: { readonly result: StepTestResult }) {
  const { outputs, row_errors: errors, told, usage, breaks, error, truncated } = result;
  return (
    <div className="grid gap-3" role="status">
      {error !== null && (
        <div className="rounded-lg border border-bad bg-bad-soft p-3">
          <p className="font-medium text-bad">
            The step fails{error.row !== null && ` at row ${error.row}`}
          </p>
          <p className="break-words">{error.message}</p>
          <code className="font-mono text-sm text-muted">{error.code}</code>
        </div>
      )}
      {Object.entries(outputs).map(([name, rows]) => {
        const { length } = rows as readonly unknown[];
        const label = `Output ${name}: ${countOf(length, "row")}`;
        return (
          <div key={name} className="grid gap-1">
            <span className="text-sm text-muted">{label}</span>
            {length > 0 && <CodeBlock label={label} text={formatJson(rows as JsonValue)} />}
          </div>
        );
      })}
      {errors.length > 0 && (
        <ul className="grid gap-1" aria-label="Row errors">
          {errors.map(({ row, code, message }) => (
            <li key={`${row} ${code}`} className="break-words">
              Row {row}: {message} <code className="font-mono text-sm text-muted">{code}</code>
            </li>
          ))}
        </ul>
      )}
      {told.length > 0 && (
        <ul className="grid gap-1" aria-label="What it would do">
          {told.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {breaks !== null && (
        <p>
          It ends the run as {breaks.as}: {breaks.message}
        </p>
      )}
      {truncated && <p className="text-muted">It made more rows than are shown.</p>}
      {usage.calls > 0 && (
        <p className="text-sm text-muted">
          {countOf(usage.calls, "call")} of models, {countOf(usage.input_tokens, "token")} in,{" "}
          {formatExact(usage.output_tokens)} out
        </p>
      )}
    </div>
  );
}
