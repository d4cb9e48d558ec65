import type { ApiKey } from "../../api/queries/api-keys.ts";
import { useSession } from "../../api/queries/session.ts";
import { CredentialBounds } from "../../parts/credentials/credential-bounds.tsx";
import { LEVELS } from "../../parts/tool-level.tsx";
import { Checkbox } from "../../ui/forms/checkbox.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import type { KeyDraft } from "./key-draft.ts";

interface FieldsProps {
  readonly draft: KeyDraft;
  readonly onChange: (draft: KeyDraft) => void;
}

interface KeyFieldsProps extends FieldsProps {
  /** What the key's tools may do now. Only administrators give more. */
  readonly level: ApiKey["max_level"];
}

const LEVEL_NAMES = ["read_only", "write", "full_auto"] as const;

/** The fields of a key, of a new one and of one that is changed. */
export function KeyFields({ draft, onChange, level }: KeyFieldsProps) {
  const isAdmin = useSession().data?.role === "admin";
  const levels = isAdmin ? LEVEL_NAMES : LEVEL_NAMES.slice(0, LEVEL_NAMES.indexOf(level) + 1);
  const set = (change: Partial<KeyDraft>) => onChange({ ...draft, ...change });
  return (
    <>
      <TextField
        name="name"
        label="Name"
        hint="What people know it by."
        required
        value={draft.name}
        onChange={(name) => set({ name })}
      />
      <Limits draft={draft} onChange={onChange} />
      <CredentialBounds bounds={draft} onChange={set} />
      <SelectField
        name="max_level"
        label="What tools may do"
        value={draft.level}
        onChange={(level) => set({ level })}
        choices={levels.map((value) => ({ value, label: LEVELS[value] }))}
        {...(!isAdmin && { hint: "More is given by administrators." })}
      />
      <Checkbox
        name="passthrough"
        label="Passthrough"
        hint="The client's messages and tools reach the model unchanged, as coding agents need."
        isChecked={draft.isPassthrough}
        onChange={(isPassthrough) => set({ isPassthrough })}
      />
    </>
  );
}

function Limits({ draft, onChange }: FieldsProps) {
  const set = (change: Partial<KeyDraft>) => onChange({ ...draft, ...change });
  return (
    <fieldset className="grid gap-4 sm:grid-cols-2">
      <legend className="sr-only">Limits</legend>
      <NumberField
        name="monthly_token_limit"
        label="Tokens a month"
        hint="A calendar month of UTC."
        placeholder="unlimited"
        value={draft.monthlyTokens}
        onChange={(monthlyTokens) => set({ monthlyTokens })}
      />
      <NumberField
        name="rpm_limit"
        label="Calls a minute"
        placeholder="unlimited"
        value={draft.rpm}
        onChange={(rpm) => set({ rpm })}
      />
      <NumberField
        name="token_limit"
        label="Tokens in all"
        placeholder="unlimited"
        value={draft.tokens}
        onChange={(tokens) => set({ tokens })}
      />
      <NumberField
        name="request_limit"
        label="Calls in all"
        placeholder="unlimited"
        value={draft.requests}
        onChange={(requests) => set({ requests })}
      />
    </fieldset>
  );
}
