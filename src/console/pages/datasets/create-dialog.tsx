import { useState } from "react";
import { type Dataset, useCreateDataset } from "../../api/queries/datasets.ts";
import { Form } from "../../ui/forms/form.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { type ColumnDraft, ColumnFields, columnsOf, newColumn } from "./column-fields.tsx";
import { DatasetFields, NEW_DATASET } from "./dataset-fields.tsx";

interface CreateDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onCreated: (dataset: Dataset) => void;
}

export function CreateDialog({ isOpen, onClose, onCreated }: CreateDialogProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Create dataset"
      description="It is empty at first. To begin with rows, import a file: its columns follow from it."
    >
      <CreateForm onClose={onClose} onCreated={onCreated} />
    </Dialog>
  );
}

function CreateForm({ onClose, onCreated }: Omit<CreateDialogProps, "isOpen">) {
  const [draft, setDraft] = useState(NEW_DATASET);
  const [columns, setColumns] = useState<readonly ColumnDraft[]>(() => [newColumn([])]);
  const create = useCreateDataset();
  return (
    <Form
      action="Create dataset"
      onCancel={onClose}
      onSubmit={async () => {
        const { description, ...fields } = draft;
        const dataset = await create.mutateAsync({
          ...fields,
          description: description === "" ? null : description,
          columns: columnsOf(columns),
          key: columns.filter(({ isKey }) => isKey).map(({ name }) => name),
        });
        onClose();
        onCreated(dataset);
        showToast(`Dataset ${dataset.name} is created`);
      }}
    >
      <DatasetFields draft={draft} onChange={setDraft} />
      <ColumnFields
        name="columns"
        legend="Columns"
        columns={columns}
        onChange={setColumns}
        hasKey
      />
      <p className="text-sm text-muted">
        The key finds the rows that an upsert replaces: its columns have a value in each row.
      </p>
    </Form>
  );
}
