import { CredentialBounds } from "../../parts/credentials/credential-bounds.tsx";
import { CheckboxGroup } from "../../ui/forms/checkbox-group.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { SCOPES, type TokenDraft } from "./token-draft.ts";

interface TokenFieldsProps {
  readonly draft: TokenDraft;
  readonly onChange: (draft: TokenDraft) => void;
}

/** The fields of a service token, of a new one and of one that is changed. */
export function TokenFields({ draft, onChange }: TokenFieldsProps) {
  const set = (change: Partial<TokenDraft>) => onChange({ ...draft, ...change });
  return (
    <>
      <TextField
        name="name"
        label="Name"
        hint="The program that uses it."
        value={draft.name}
        onChange={(name) => set({ name })}
      />
      <CheckboxGroup
        name="scopes"
        label="Scopes"
        hint={`${draft.scopes.length} of ${SCOPES.length} chosen. Writing does not include reading.`}
        choices={SCOPES.map(({ scope, meaning }) => ({
          value: scope,
          label: <code className="font-mono text-sm">{scope}</code>,
          hint: meaning,
        }))}
        value={draft.scopes}
        onChange={(scopes) => set({ scopes })}
      />
      <CredentialBounds bounds={draft} onChange={set} />
    </>
  );
}
