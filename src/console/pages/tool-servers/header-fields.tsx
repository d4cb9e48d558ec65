import { Plus, X } from "lucide-react";
import { use } from "react";
import { Button } from "../../ui/buttons/button.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { FormErrors } from "../../ui/forms/form-errors.ts";

export interface HeaderRow {
  readonly key: number;
  readonly name: string;
  readonly value: string;
}

/** Returns the headers as they are sent. Rows without a name are left out. */
export function headersOf(rows: readonly HeaderRow[]): Record<string, string> {
  const named = rows.filter(({ name }) => name.trim() !== "");
  return Object.fromEntries(named.map(({ name, value }) => [name.trim(), value.trim()]));
}

interface HeaderFieldsProps {
  readonly rows: readonly HeaderRow[];
  readonly onChange: (rows: readonly HeaderRow[]) => void;
}

/** Headers that are sent with each request, such as a secret. */
export function HeaderFields({ rows, onChange }: HeaderFieldsProps) {
  const error = use(FormErrors).errors["headers"];
  const change = (key: number, change: Partial<HeaderRow>) =>
    onChange(rows.map((row) => (row.key === key ? { ...row, ...change } : row)));
  const add = () => {
    const isFirst = rows.length === 0;
    const start = isFirst ? { name: "Authorization", value: "Bearer " } : { name: "", value: "" };
    onChange([...rows, { key: (rows.at(-1)?.key ?? 0) + 1, ...start }]);
  };
  return (
    <fieldset data-field="headers" className="grid min-w-0 gap-2">
      <legend className="font-medium">Headers</legend>
      <p className="text-sm text-muted">
        Sent with each request, such as its API key. The values are stored encrypted and never shown
        again.
      </p>
      {rows.map(({ key, name, value }, index) => (
        <div key={key} className="flex items-end gap-2">
          <div className="grid min-w-0 flex-1 gap-2 sm:grid-cols-2">
            <TextField
              name={`header-name-${key}`}
              label={`Name ${index + 1}`}
              value={name}
              onChange={(next) => change(key, { name: next })}
              spellCheck={false}
              autoCapitalize="none"
            />
            <TextField
              name={`header-value-${key}`}
              label={`Value ${index + 1}`}
              type="password"
              autoComplete="new-password"
              value={value}
              onChange={(next) => change(key, { value: next })}
            />
          </div>
          <IconButton
            icon={X}
            label={`Remove header ${name || index + 1}`}
            isPlain
            onClick={() => onChange(rows.filter((row) => row.key !== key))}
          />
        </div>
      ))}
      <div>
        <Button onClick={add}>
          <Plus size={16} aria-hidden />
          Add header
        </Button>
      </div>
      {error !== undefined && <p className="text-sm font-medium text-bad">{error}</p>}
    </fieldset>
  );
}
