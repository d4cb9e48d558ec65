import { useState } from "react";
import { type FlowStep, freeId, joinSource, outputsOf } from "../../../lib/workflow-graph.ts";
import { renameStep, setInputs } from "../../../lib/workflow-text.ts";
import { Button } from "../../../ui/buttons/button.tsx";
import { Checkbox } from "../../../ui/forms/checkbox.tsx";
import { TextField } from "../../../ui/forms/field.tsx";
import { FormErrors } from "../../../ui/forms/form-errors.ts";
import type { ViewProps } from "../editor/editor-props.ts";

interface StepNamesProps extends ViewProps {
  readonly step: FlowStep;
  /** What is wrong with `id`, `kind` and `from`. */
  readonly faults: Readonly<Record<string, string>>;
}

/** The name of a step, and what it reads. */
export function StepNames(props: StepNamesProps) {
  return (
    <FormErrors value={{ errors: props.faults }}>
      <Name key={props.step.id} {...props} />
      <Inputs {...props} />
    </FormErrors>
  );
}

function Name({ step, draft, onReplaced }: StepNamesProps) {
  const [typed, setTyped] = useState(step.id);
  const { steps } = draft.document;
  const isTaken = typed !== step.id && freeId(typed, steps) !== typed;
  const isWrong = !/^[a-z][a-z0-9_]{0,39}$/.test(typed);
  const wrongForm = isWrong ? "The id is a-z, 0-9 and _, a letter first." : undefined;
  const rename = () => {
    if (isTaken || isWrong || typed === step.id) return;
    draft.edit((text) => renameStep(text, step.at, typed));
    onReplaced(typed);
  };
  return (
    <div className="flex items-end gap-2">
      <div className="min-w-0 flex-1">
        <TextField
          name="id"
          label="Id"
          value={typed}
          onChange={setTyped}
          onKeyDown={(event) => event.key === "Enter" && rename()}
          autoCapitalize="none"
          spellCheck={false}
        />
      </div>
      {typed !== step.id && (
        <Button
          disabledReason={isTaken ? "Another step is called so." : wrongForm}
          onClick={rename}
        >
          Rename step
        </Button>
      )}
    </div>
  );
}

/** Every output of another step, to be read or not. What is read already stands first, in its order. */
function Inputs({ step, draft, kinds, faults }: StepNamesProps) {
  const { steps } = draft.document;
  const now = step.inputs.map(joinSource);
  const others = steps
    .filter(({ id, at }) => id !== "" && at !== step.at)
    .flatMap((other) => {
      const own = kinds?.data.find(({ kind }) => kind === other.kind)?.outputs ?? [];
      return outputsOf(other, steps, own).map((output) => joinSource({ step: other.id, output }));
    })
    .filter((name) => !now.includes(name));
  const toggle = (name: string, isRead: boolean) => {
    const next = isRead ? [...now, name] : now.filter((one) => one !== name);
    draft.edit((text) => setInputs(text, step.at, next));
  };
  const box = (name: string, isRead: boolean) => (
    <Checkbox
      key={name}
      name={`from.${name}`}
      label={name}
      isChecked={isRead}
      onChange={(isOn) => toggle(name, isOn)}
    />
  );
  return (
    <fieldset data-field="from" className="grid min-w-0 gap-1">
      <legend className="font-medium">Reads from</legend>
      {faults["from"] !== undefined && (
        <p className="text-sm font-medium text-bad">{faults["from"]}</p>
      )}
      {now.length === 0 && <p className="text-muted">Nothing: it brings its rows itself.</p>}
      {now.map((name) => box(name, true))}
      {others.length > 0 && (
        <details>
          <summary className="min-h-(--control) cursor-pointer py-1.5 text-muted">
            Read from another step
          </summary>
          {others.map((name) => box(name, false))}
        </details>
      )}
    </fieldset>
  );
}
