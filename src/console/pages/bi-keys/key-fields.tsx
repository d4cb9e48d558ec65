import { useDataTables } from "../../api/queries/data-tables.ts";
import { CredentialBounds } from "../../parts/credentials/credential-bounds.tsx";
import { CheckboxGroup } from "../../ui/forms/checkbox-group.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { Switch } from "../../ui/forms/switch.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import type { BiKeyDraft } from "./key-draft.ts";

interface BiKeyFieldsProps {
  readonly draft: BiKeyDraft;
  readonly onChange: (draft: BiKeyDraft) => void;
}

/** The fields of a BI key, of a new one and of one that is changed. */
export function BiKeyFields({ draft, onChange }: BiKeyFieldsProps) {
  const set = (change: Partial<BiKeyDraft>) => onChange({ ...draft, ...change });
  return (
    <>
      <TextField
        name="name"
        label="Name"
        hint="The report or the tool that uses it."
        value={draft.name}
        onChange={(name) => set({ name })}
      />
      <Switch
        name="is_all"
        label="Reads every table, those to come too"
        isOn={draft.isAll}
        onChange={(isAll) => set({ isAll })}
      />
      {!draft.isAll && <Tables draft={draft} onChange={onChange} />}
      <Limits draft={draft} onChange={onChange} />
      <CredentialBounds bounds={draft} onChange={set} />
    </>
  );
}

/** The tables there are, and those that the key names though they are gone. */
function Tables({ draft, onChange }: BiKeyFieldsProps) {
  const { data, error, refetch } = useDataTables();
  if (error !== null) {
    return (
      <ErrorCard
        what="The tables could not be loaded"
        error={error}
        onRetry={() => void refetch()}
      />
    );
  }
  if (data === undefined) return <Skeleton shape="lines" label="The tables are loading" />;
  const known = data.data.map(({ name, comment }) => ({ name, hint: comment }));
  const gone = draft.tables.filter((name) => !known.some((table) => table.name === name));
  const all = [...known, ...gone.map((name) => ({ name, hint: "There is no such table now." }))];
  return (
    <CheckboxGroup
      name="datasets"
      label="Tables"
      hint={`${draft.tables.length} of ${known.length} chosen. Without one the key reads nothing.`}
      choices={all.map(({ name, hint }) => ({
        value: name,
        label: <code className="font-mono text-sm">{name}</code>,
        hint: hint ?? undefined,
      }))}
      value={draft.tables}
      onChange={(tables) => onChange({ ...draft, tables })}
    />
  );
}

function Limits({ draft, onChange }: BiKeyFieldsProps) {
  const set = (change: Partial<BiKeyDraft>) => onChange({ ...draft, ...change });
  return (
    <fieldset className="grid gap-4 sm:grid-cols-3">
      <legend className="sr-only">Limits</legend>
      <NumberField
        name="row_limit"
        label="Rows a statement"
        min={1}
        value={draft.rows}
        onChange={(rows) => set({ rows })}
      />
      <NumberField
        name="timeout_seconds"
        label="Seconds a statement"
        hint="600 at most."
        min={1}
        value={draft.seconds}
        onChange={(seconds) => set({ seconds })}
      />
      <NumberField
        name="max_connections"
        label="Connections"
        hint="At the PostgreSQL port at once."
        min={1}
        value={draft.connections}
        onChange={(connections) => set({ connections })}
      />
    </fieldset>
  );
}
