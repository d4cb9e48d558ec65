import { useModels } from "../../api/queries/models.ts";
import { ComboboxField } from "../../ui/combobox.tsx";
import { TextAreaField } from "../../ui/field.tsx";
import { NumberField } from "../../ui/number-field.tsx";
import { SelectField } from "../../ui/select.tsx";
import type { AssistantDraft } from "./assistant-draft.ts";

interface ModelFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The model that answers for an assistant. */
export function ModelField({ value, onChange }: ModelFieldProps) {
  const models = useModels();
  const choices = (models.data ?? [])
    .filter(({ kind }) => kind === "chat")
    .map(({ id, name, hint }) => ({ value: id, label: name, hint }));
  return (
    <ComboboxField
      name="model"
      label="Model"
      placeholder="The server's default"
      value={value}
      choices={choices}
      onChange={onChange}
      isLoading={models.isPending}
    />
  );
}

const EFFORTS = ["", "none", "low", "medium", "high", "max"].map((value) => ({
  value,
  label: value === "" ? "The model's own" : value,
}));
const FORMATS = [
  { value: "auto", label: "As the client asks" },
  { value: "text", label: "Text" },
  { value: "json_object", label: "A JSON object" },
  { value: "json_schema", label: "JSON by a schema" },
] as const;

export interface PartProps {
  readonly draft: AssistantDraft;
  readonly set: (change: Partial<AssistantDraft>) => void;
}

/** How the model answers, where a client does not say it. */
export function AnswerFields({ draft, set }: PartProps) {
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-3">
        <SelectField
          name="reasoning_effort"
          label="Effort"
          value={draft.effort}
          onChange={(effort) => set({ effort })}
          choices={EFFORTS}
        />
        <NumberField
          name="temperature"
          label="Temperature"
          placeholder="the model's own"
          max={2}
          step={0.1}
          value={draft.temperature}
          onChange={(temperature) => set({ temperature })}
        />
        <NumberField
          name="top_p"
          label="Top p"
          placeholder="the model's own"
          max={1}
          step={0.05}
          value={draft.topP}
          onChange={(topP) => set({ topP })}
        />
      </div>
      <SelectField
        name="response_format"
        label="Form of the answer"
        value={draft.format}
        onChange={(format) => set({ format })}
        choices={FORMATS}
      />
      {draft.format === "json_schema" && (
        <TextAreaField
          name="response_format.json_schema"
          label="Schema of the answer"
          hint='JSON with "name" and "schema".'
          rows={6}
          isCode
          value={draft.schema}
          onChange={(schema) => set({ schema })}
        />
      )}
      <TextAreaField
        name="metadata"
        label="Metadata"
        hint="For programs: one pair a line, such as team: support."
        rows={2}
        isCode
        value={draft.metadata}
        onChange={(metadata) => set({ metadata })}
      />
    </>
  );
}
