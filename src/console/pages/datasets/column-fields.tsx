import { Plus, X } from "lucide-react";
import { use } from "react";
import type { DatasetColumn } from "../../api/queries/datasets.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { Checkbox } from "../../ui/forms/checkbox.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { FormErrors } from "../../ui/forms/form-errors.ts";
import { SelectField } from "../../ui/forms/select.tsx";

export interface ColumnDraft extends DatasetColumn {
  readonly number: number;
  readonly isKey: boolean;
}

export const COLUMN_TYPES: Readonly<Record<DatasetColumn["type"], string>> = {
  text: "Text",
  integer: "Whole number, 64 bits",
  decimal: "Decimal, any digits",
  number: "Number, binary",
  boolean: "True or false",
  date: "Date",
  timestamp: "Time, in UTC",
  json: "JSON",
};
const CHOICES = Object.entries(COLUMN_TYPES).map(([value, label]) => ({
  value: value as DatasetColumn["type"],
  label,
}));

interface ColumnFieldsProps {
  /** What the request calls them: `columns` or `add_columns`. */
  readonly name: string;
  readonly legend: string;
  readonly columns: readonly ColumnDraft[];
  readonly onChange: (columns: readonly ColumnDraft[]) => void;
  /** Added columns can be no part of the key. */
  readonly hasKey?: boolean;
}

/** Columns with their types. */
export function ColumnFields(props: ColumnFieldsProps) {
  const { name, legend, columns, onChange, hasKey = false } = props;
  const { errors } = use(FormErrors);
  const set = (number: number, change: Partial<ColumnDraft>) =>
    onChange(columns.map((one) => (one.number === number ? { ...one, ...change } : one)));
  const faults = [errors[name], errors["key"]].filter((fault) => fault !== undefined);
  return (
    <fieldset data-field={name} className="grid min-w-0 gap-3">
      <legend className="pb-1 font-medium">{legend}</legend>
      {columns.map((column, index) => (
        <div key={column.number} className="flex min-w-0 items-end gap-2">
          <div className="grid min-w-0 flex-1 gap-2 sm:grid-cols-2">
            <TextField
              name={`${name}[${index}].name`}
              label={`Column ${index + 1}`}
              value={column.name}
              onChange={(next) => set(column.number, { name: next })}
              spellCheck={false}
              autoCapitalize="none"
            />
            <SelectField
              name={`${name}[${index}].type`}
              label={`Type ${index + 1}`}
              value={column.type}
              onChange={(type) => set(column.number, { type })}
              choices={CHOICES}
            />
          </div>
          {hasKey && (
            <Checkbox
              name={`key-${index}`}
              label="Key"
              isChecked={column.isKey}
              onChange={(isKey) => set(column.number, { isKey })}
            />
          )}
          <IconButton
            icon={X}
            label={`Remove column ${column.name || index + 1}`}
            isPlain
            onClick={() => onChange(columns.filter(({ number }) => number !== column.number))}
          />
        </div>
      ))}
      <div>
        <Button onClick={() => onChange([...columns, newColumn(columns)])}>
          <Plus size={16} aria-hidden />
          Add column
        </Button>
      </div>
      {hasKey && <div data-field="key" className="hidden" />}
      {faults.map((fault) => (
        <p key={fault} className="text-sm font-medium text-bad">
          {fault}
        </p>
      ))}
    </fieldset>
  );
}

export function newColumn(columns: readonly ColumnDraft[]): ColumnDraft {
  return { number: (columns.at(-1)?.number ?? 0) + 1, name: "", type: "text", isKey: false };
}

/** Returns the columns as they are sent. */
export function columnsOf(drafts: readonly ColumnDraft[]): DatasetColumn[] {
  return drafts.map(({ name, type }) => ({ name, type }));
}
