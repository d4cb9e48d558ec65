import { useState } from "react";
import {
  type Dataset,
  type DatasetImport,
  type ImportMode,
  useImportRows,
} from "../../api/queries/datasets.ts";
import { countOf, wordFor } from "../../lib/count.ts";
import { TextField } from "../../ui/forms/field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { DatasetFields, NEW_DATASET } from "./dataset-fields.tsx";
import { ImportForm } from "./import-form.tsx";

interface NewImportDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onImported: (imported: DatasetImport) => void;
}

/** Makes a dataset of a file. */
export function NewImportDialog({ isOpen, onClose, onImported }: NewImportDialogProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Import file"
      description="Columns and their types follow from all rows of the file."
      isWide
    >
      <NewImport onClose={onClose} onImported={onImported} />
    </Dialog>
  );
}

function NewImport({ onClose, onImported }: Omit<NewImportDialogProps, "isOpen">) {
  const [draft, setDraft] = useState(NEW_DATASET);
  const [key, setKey] = useState("");
  const send = useImportRows();
  return (
    <ImportForm
      action="Import file"
      onCancel={onClose}
      onFile={(name) => draft.name === "" && setDraft({ ...draft, name: datasetName(name) })}
      onSend={async (file) => {
        const imported = await send.mutateAsync({ ...file, into: { ...draft, key } });
        onClose();
        onImported(imported);
        showToast(`${countOf(imported.rows, "row")} imported into ${imported.dataset.name}`);
      }}
    >
      <DatasetFields draft={draft} onChange={setDraft} />
      <TextField
        name="key"
        label="Key"
        hint="Columns by which later imports find the rows to replace, with commas between them. Empty is none."
        value={key}
        onChange={setKey}
        spellCheck={false}
        autoCapitalize="none"
      />
    </ImportForm>
  );
}

/** Returns the name of a dataset that a file's name suggests. */
function datasetName(fileName: string): string {
  const words = fileName
    .replace(/\.\w+$/, "")
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_");
  return words
    .replace(/^[^a-z]+/, "")
    .replace(/_+$/, "")
    .slice(0, 63);
}

interface ImportDialogProps {
  readonly dataset: Dataset;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Writes the rows of a file into a dataset. */
export function ImportDialog({ dataset, isOpen, onClose }: ImportDialogProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Import rows into ${dataset.name}`}
      description="All rows are written, or none. The file's headings are the names of the columns."
      isWide
    >
      <RowsImport dataset={dataset} onClose={onClose} />
    </Dialog>
  );
}

function RowsImport({ dataset, onClose }: Omit<ImportDialogProps, "isOpen">) {
  const [mode, setMode] = useState<ImportMode>("append");
  const [typed, setTyped] = useState("");
  const send = useImportRows();
  const { id, name, key, rows } = dataset;
  const isReplacing = mode === "replace" && rows > 0;
  const hint = key.length === 0 ? "It has no key." : `Found by ${key.join(", ")}.`;
  return (
    <ImportForm
      action={mode === "replace" ? "Replace rows" : "Import rows"}
      isDanger={isReplacing}
      disabledReason={isReplacing && typed !== name ? "Type the name first." : undefined}
      onCancel={onClose}
      onSend={async (file) => {
        const imported = await send.mutateAsync({ ...file, into: { id, mode } });
        onClose();
        showToast(`${countOf(imported.rows, "row")} imported into ${name}`);
      }}
    >
      <SelectField
        name="mode"
        label="What becomes of the rows that are there"
        value={mode}
        onChange={setMode}
        choices={[
          { value: "append", label: "They stay, the file's are added" },
          ...(key.length > 0
            ? [{ value: "upsert" as const, label: "Those with the same key are replaced", hint }]
            : []),
          { value: "replace", label: "All are replaced by the file's" },
        ]}
      />
      {isReplacing && (
        <>
          <p className="text-warn">
            {countOf(rows, "row that is", "rows that are")} there now {wordFor(rows, "is", "are")}{" "}
            lost. Readers see the old rows until the new ones are complete.
          </p>
          <TextField
            name="confirm"
            label={`Type ${name} to confirm`}
            value={typed}
            onChange={setTyped}
            spellCheck={false}
            autoCapitalize="none"
          />
        </>
      )}
    </ImportForm>
  );
}
