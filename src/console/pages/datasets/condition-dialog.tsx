import { useState } from "react";
import { type Dataset, tryCondition } from "../../api/queries/datasets.ts";
import {
  operatorsOf,
  type RowCondition,
  type RowOperator,
  takesValue,
} from "../../lib/tables/row-filter.ts";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";

interface ConditionDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly dataset: Dataset;
  readonly onAdd: (condition: RowCondition) => void;
}

/** Adds a condition that rows have to meet. */
export function ConditionDialog(props: ConditionDialogProps) {
  return (
    <Dialog isOpen={props.isOpen} onClose={props.onClose} title="Add filter">
      <Fields {...props} />
    </Dialog>
  );
}

const HINTS: Readonly<Record<string, string>> = {
  date: "As 2026-11-24.",
  timestamp: "In UTC, as 2026-11-24T19:04:00Z.",
};

function Fields({ dataset, onAdd, onClose }: ConditionDialogProps) {
  const [name, setName] = useState(dataset.columns[0]?.name ?? "");
  const [chosen, setChosen] = useState<RowOperator>();
  const [value, setValue] = useState("");
  const type = dataset.columns.find((column) => column.name === name)?.type ?? "text";
  const operators = operatorsOf(type);
  const operator = operators.find((known) => known.value === chosen) ?? operators[0];
  if (operator === undefined) return null;
  const condition = { column: name, operator: operator.value, value };
  const isValued = takesValue(operator.value);
  return (
    <Form
      action="Add filter"
      onCancel={onClose}
      disabledReason={isValued && value === "" ? "Type a value first." : undefined}
      onSubmit={async () => {
        await tryCondition(dataset.name, condition);
        onAdd(condition);
        onClose();
      }}
    >
      <SelectField
        name="column"
        label="Column"
        value={name}
        onChange={setName}
        choices={dataset.columns.map((column) => ({ value: column.name, label: column.name }))}
      />
      <SelectField
        name="operator"
        label="Condition"
        value={operator.value}
        onChange={setChosen}
        choices={operators}
      />
      {isValued && (
        <TextField
          // The server names the condition's parameter when the value does not fit its column.
          name={`filter.${name}`}
          label="Value"
          hint={HINTS[type]}
          spellCheck={false}
          value={value}
          onChange={setValue}
        />
      )}
    </Form>
  );
}
