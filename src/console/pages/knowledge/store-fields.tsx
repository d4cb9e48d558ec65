import { TextField } from "../../ui/forms/field.tsx";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";

/** What a form changes of a store. */
export interface StoreDraft {
  readonly name: string;
  readonly description: string;
  /** Of expiry; null is never. */
  readonly days: number | null;
  readonly visibility: "private" | "everyone";
}

const MAX_DAYS = 365;

interface StoreFieldsProps {
  readonly draft: StoreDraft;
  readonly onChange: (draft: StoreDraft) => void;
  /** Only administrators share a store. */
  readonly isAdmin: boolean;
}

/** The fields that a store has from its creation on. */
export function StoreFields({ draft, onChange, isAdmin }: StoreFieldsProps) {
  const set = (change: Partial<StoreDraft>) => onChange({ ...draft, ...change });
  return (
    <>
      <TextField
        name="name"
        label="Name"
        required
        value={draft.name}
        onChange={(name) => set({ name })}
      />
      <TextField
        name="description"
        label="Description"
        hint="What is in it, for people."
        value={draft.description}
        onChange={(description) => set({ description })}
      />
      <NumberField
        name="expires_after.days"
        label="Expires"
        hint="Days after it was last used; then its files can no longer be searched. Empty is never."
        placeholder="never"
        unit="d"
        min={1}
        max={MAX_DAYS}
        value={draft.days}
        onChange={(days) => set({ days })}
      />
      {isAdmin && (
        <SelectField
          name="ext.visibility"
          label="Who may search it"
          value={draft.visibility}
          onChange={(visibility) => set({ visibility })}
          choices={[
            { value: "private", label: "Its owner and administrators" },
            { value: "everyone", label: "Everyone" },
          ]}
        />
      )}
    </>
  );
}
