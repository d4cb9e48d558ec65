import type { Dataset } from "../../api/queries/datasets.ts";
import { useSession } from "../../api/queries/session.ts";
import { TextAreaField, TextField } from "../../ui/forms/field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";

export interface DatasetDraft {
  readonly name: string;
  readonly description: string;
  readonly visibility: Dataset["visibility"];
}

export const NEW_DATASET: DatasetDraft = { name: "", description: "", visibility: "private" };

interface DatasetFieldsProps {
  readonly draft: DatasetDraft;
  readonly onChange: (draft: DatasetDraft) => void;
}

/** What a dataset is called, what is in it, and who reads it. */
export function DatasetFields({ draft, onChange }: DatasetFieldsProps) {
  const isAdmin = useSession().data?.role === "admin";
  const set = (change: Partial<DatasetDraft>) => onChange({ ...draft, ...change });
  return (
    <>
      <TextField
        name="name"
        label="Name"
        hint="a-z, 0-9 and _, a letter first. Queries name it."
        value={draft.name}
        onChange={(name) => set({ name })}
        spellCheck={false}
        autoCapitalize="none"
      />
      <TextAreaField
        name="description"
        label="Description"
        rows={2}
        value={draft.description}
        onChange={(description) => set({ description })}
      />
      {isAdmin && (
        <SelectField
          name="visibility"
          label="Read by"
          value={draft.visibility}
          onChange={(visibility) => set({ visibility })}
          choices={[
            { value: "private", label: "Its owner", hint: "And administrators." },
            { value: "everyone", label: "All users", hint: "They read it; its owner writes it." },
          ]}
        />
      )}
    </>
  );
}
