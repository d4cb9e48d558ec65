import { EFFORTS } from "../../lib/efforts.ts";
import { TextAreaField } from "../../ui/forms/field.tsx";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import type { PartProps } from "./assistant-draft.ts";

const CHOICES = EFFORTS.map((value) => ({
  value,
  label: value === "" ? "The model's own" : value,
}));
const FORMATS = [
  { value: "auto", label: "As the client asks" },
  { value: "text", label: "Text" },
  { value: "json_object", label: "A JSON object" },
  { value: "json_schema", label: "JSON by a schema" },
] as const;

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
          choices={CHOICES}
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
