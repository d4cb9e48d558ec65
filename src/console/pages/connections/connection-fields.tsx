import { TextAreaField, TextField } from "../../ui/forms/field.tsx";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import type { ConnectionDraft } from "./connection-draft.ts";
import { KINDS } from "./connection-words.ts";

interface ConnectionFieldsProps {
  readonly draft: ConnectionDraft;
  readonly onChange: (draft: ConnectionDraft) => void;
  readonly isNew?: boolean;
  /** A password is saved, which stays unless another one is typed. */
  readonly hasPassword?: boolean;
}

const PORTS = { postgres: "5432", mysql: "3306", sqlite: "" } as const;
const PLAIN = { spellCheck: false, autoCapitalize: "none" } as const;

/** The fields of a connection, of a new one and of one that is changed. */
export function ConnectionFields(props: ConnectionFieldsProps) {
  const { draft, onChange, isNew = false } = props;
  const set = (change: Partial<ConnectionDraft>) => onChange({ ...draft, ...change });
  return (
    <>
      <TextField
        name="name"
        label="Name"
        hint="Assistants and keys name it; models see it."
        value={draft.name}
        onChange={(name) => set({ name })}
      />
      {isNew && (
        <SelectField
          name="kind"
          label="Kind"
          value={draft.kind}
          onChange={(kind) => set({ kind })}
          choices={Object.entries(KINDS).map(([value, label]) => ({
            value: value as ConnectionDraft["kind"],
            label,
          }))}
        />
      )}
      {draft.kind === "sqlite" ? (
        <TextField
          {...PLAIN}
          name="file"
          label="File"
          hint="workspace/ or the name of a folder of WATCH_DIRS, and the path of the file in it."
          value={draft.file}
          onChange={(file) => set({ file })}
        />
      ) : (
        <ServerFields {...props} />
      )}
      <TextAreaField
        name="description"
        label="Description"
        hint="For the model: what is in it."
        rows={2}
        value={draft.description}
        onChange={(description) => set({ description })}
      />
    </>
  );
}

function ServerFields({ draft, onChange, hasPassword = false }: ConnectionFieldsProps) {
  const set = (change: Partial<ConnectionDraft>) => onChange({ ...draft, ...change });
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-[1fr_8rem]">
        <TextField
          {...PLAIN}
          name="host"
          label="Host"
          hint="One in a private network has to be listed in EGRESS_ALLOW."
          value={draft.host}
          onChange={(host) => set({ host })}
        />
        <NumberField
          name="port"
          label="Port"
          placeholder={PORTS[draft.kind]}
          value={draft.port}
          onChange={(port) => set({ port })}
        />
      </div>
      <TextField
        {...PLAIN}
        name="database"
        label="Database"
        {...(draft.kind === "mysql" && { hint: "May be left empty." })}
        value={draft.database}
        onChange={(database) => set({ database })}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          {...PLAIN}
          name="user"
          label="User"
          hint="One that may only read."
          value={draft.user}
          onChange={(user) => set({ user })}
        />
        <TextField
          name="password"
          label="Password"
          type="password"
          autoComplete="new-password"
          placeholder={hasPassword ? "unchanged" : undefined}
          hint="Stored encrypted, never shown."
          value={draft.password ?? ""}
          onChange={(password) => set({ password })}
        />
      </div>
      <SelectField
        name="tls"
        label="TLS"
        value={draft.tls}
        onChange={(tls) => set({ tls })}
        choices={[
          { value: "verify", label: "Verified", hint: "Certificate and host are checked." },
          { value: "on", label: "Encrypted", hint: "Any certificate is taken." },
          { value: "off", label: "Off", hint: "Password and rows are sent in plain text." },
        ]}
      />
    </>
  );
}
