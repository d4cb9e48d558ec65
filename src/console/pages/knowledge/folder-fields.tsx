import { useFileConnections } from "../../api/queries/vector-stores.ts";
import { TextField } from "../../ui/forms/field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";

export interface FolderDraft {
  /** The empty text is none. */
  readonly connection: string;
  readonly glob: string;
}

interface FolderFieldsProps {
  /** What stands before the fields' names in the request. */
  readonly prefix: string;
  readonly draft: FolderDraft;
  readonly onChange: (draft: FolderDraft) => void;
  /** Only folders that are watched can be followed. */
  readonly isWatchedOnly: boolean;
}

/** A folder of the server, and which files in it. */
export function FolderFields({ prefix, draft, onChange, isWatchedOnly }: FolderFieldsProps) {
  const connections = useFileConnections(true);
  const { data = [] } = connections.data ?? {};
  const known = data.filter(({ watched }) => watched || !isWatchedOnly);
  const missing =
    draft.connection !== "" && !known.some(({ name }) => name === draft.connection)
      ? [{ value: draft.connection, label: draft.connection }]
      : [];
  return (
    <>
      {connections.error !== null && (
        <ErrorCard what="The folders could not be loaded" error={connections.error} />
      )}
      <SelectField
        name={`${prefix}.file_connection`}
        label="Folder"
        hint={
          isWatchedOnly
            ? "One of WATCH_DIRS; a store follows no other."
            : "WORKSPACE_DIR, and each of WATCH_DIRS."
        }
        value={draft.connection}
        onChange={(connection) => onChange({ ...draft, connection })}
        choices={[
          { value: "", label: "None" },
          ...known.map(({ name }) => ({ value: name, label: name })),
          ...missing,
        ]}
      />
      <TextField
        name={`${prefix}.glob`}
        label="Files"
        hint="A pattern of paths: * is one level, ** all levels below, such as manuals/**/*.pdf."
        value={draft.glob}
        onChange={(glob) => onChange({ ...draft, glob })}
        spellCheck={false}
        autoCapitalize="none"
      />
    </>
  );
}
