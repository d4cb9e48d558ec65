import { useState } from "react";
import { useApiKeys } from "../../../api/queries/api-keys.ts";
import { useSession } from "../../../api/queries/session.ts";
import type { JsonValue } from "../../../lib/json/json-schema.ts";
import { setHead } from "../../../lib/workflow-text.ts";
import { ComboboxField } from "../../../ui/forms/combobox.tsx";
import { TextAreaField, TextField } from "../../../ui/forms/field.tsx";
import { FormErrors } from "../../../ui/forms/form-errors.ts";
import { NumberField } from "../../../ui/forms/number-field.tsx";
import { SelectField } from "../../../ui/forms/select.tsx";
import { SidePanel } from "../../../ui/overlays/side-panel.tsx";
import type { SavedWorkflow, ViewProps } from "./editor-props.ts";

interface HeadPanelProps extends ViewProps {
  readonly saved: SavedWorkflow | undefined;
  readonly onClose: () => void;
}

const KEEPING = [
  { value: "all", label: "Of all runs" },
  { value: "failed", label: "Of failed runs" },
  { value: "none", label: "Of none" },
] as const;

/** What a workflow has beside its steps and triggers. */
export function HeadPanel({ draft, saved, readOnlyReason, onClose }: HeadPanelProps) {
  const { value } = draft.document;
  const isAdmin = useSession().data?.role === "admin";
  const set = (field: string, next: JsonValue | undefined) =>
    draft.edit((text) => setHead(text, field, next));
  const textOf = (field: string) => {
    const given = value[field];
    return typeof given === "string" ? given : "";
  };
  const seconds = value["timeout_seconds"];
  const keeping = KEEPING.find((one) => one.value === value["keep_rows"])?.value ?? "all";
  const errors = Object.fromEntries(
    draft.faults
      .filter(({ step }) => step === null)
      .map(({ field, message }) => [field, message] as const),
  );
  return (
    <SidePanel title="Settings" of="settings" onClose={onClose}>
      <FormErrors value={{ errors }}>
        <fieldset
          disabled={readOnlyReason !== undefined || draft.fault !== undefined}
          className="grid min-w-0 gap-4"
        >
          <TextField
            name="name"
            label="Name"
            value={textOf("name")}
            onChange={(name) => set("name", name)}
          />
          <TextAreaField
            name="description"
            label="Description"
            rows={3}
            value={textOf("description")}
            onChange={(text) => set("description", text === "" ? undefined : text)}
          />
          <KeyField
            ownerId={saved?.workflow.owner_id ?? undefined}
            value={textOf("key_id")}
            onChange={(id) => set("key_id", id === "" ? undefined : id)}
          />
          <SelectField
            name="visibility"
            label="Who may see, start and stop it"
            {...(!isAdmin && { hint: "Only administrators share workflows." })}
            value={value["visibility"] === "everyone" ? "everyone" : "private"}
            onChange={(next) => set("visibility", next === "private" ? undefined : next)}
            choices={[
              { value: "private", label: "Its owner and administrators" },
              { value: "everyone", label: "Everyone" },
            ]}
          />
          <NumberField
            name="timeout_seconds"
            label="Time of a run"
            hint="From its first start."
            unit="s"
            min={1}
            placeholder="3,600"
            value={typeof seconds === "number" ? seconds : null}
            onChange={(next) => set("timeout_seconds", next ?? undefined)}
          />
          <SelectField
            name="keep_rows"
            label="Rows are kept"
            value={keeping}
            onChange={(next) => set("keep_rows", next === "all" ? undefined : next)}
            choices={KEEPING}
          />
        </fieldset>
      </FormErrors>
    </SidePanel>
  );
}

interface KeyFieldProps {
  /** Whose keys; undefined: one's own. */
  readonly ownerId: string | undefined;
  readonly value: string;
  readonly onChange: (id: string) => void;
}

function KeyField({ ownerId, value, onChange }: KeyFieldProps) {
  const [typed, setTyped] = useState("");
  const session = useSession().data;
  const owner = ownerId ?? session?.id;
  const list = useApiKeys({
    ...(typed !== "" && { search: typed }),
    ...(owner !== undefined && { owner_id: owner }),
    state: "active",
  });
  return (
    <ComboboxField
      name="key_id"
      label="API key of model steps"
      hint="Its limits and rights hold for each call. Steps that call models need one."
      value={value}
      onChange={onChange}
      onSearch={setTyped}
      isLoading={list.isLoading}
      placeholder="No key"
      choices={list.rows.map(({ id, name, last_four: end }) => ({
        value: id,
        label: name,
        hint: `…${end}`,
      }))}
    />
  );
}
