import { useState } from "react";
import { type Dataset, useChangeDataset, useDeleteDataset } from "../../api/queries/datasets.ts";
import { countOf } from "../../lib/count.ts";
import { Form } from "../../ui/forms/form.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { type ColumnDraft, ColumnFields, columnsOf } from "./column-fields.tsx";
import { type DatasetDraft, DatasetFields } from "./dataset-fields.tsx";

interface DatasetDialogProps {
  readonly dataset: Dataset;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function ChangeDialog({ isOpen, ...props }: DatasetDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={props.onClose} title={`Change dataset ${props.dataset.name}`}>
      <ChangeForm {...props} />
    </Dialog>
  );
}

function ChangeForm({ dataset, onClose }: Omit<DatasetDialogProps, "isOpen">) {
  const [before] = useState<DatasetDraft>({
    name: dataset.name,
    description: dataset.description ?? "",
    visibility: dataset.visibility,
  });
  const [draft, setDraft] = useState(before);
  const [added, setAdded] = useState<readonly ColumnDraft[]>([]);
  const change = useChangeDataset(dataset.id);
  const { name, description, visibility } = draft;
  const changes = {
    ...(name !== before.name && { name }),
    ...(description !== before.description && { description: description || null }),
    ...(visibility !== before.visibility && { visibility }),
    ...(added.length > 0 && { add_columns: columnsOf(added) }),
  };
  const isSame = Object.keys(changes).length === 0;
  return (
    <Form
      action="Save dataset"
      onCancel={onClose}
      disabledReason={isSame ? "Nothing is changed yet." : undefined}
      onSubmit={async () => {
        await change.mutateAsync(changes);
        onClose();
        showToast(`Dataset ${name} is changed`);
      }}
    >
      <DatasetFields draft={draft} onChange={setDraft} />
      {name !== before.name && (
        <p className="text-warn">
          Queries, workflows and BI keys that use the name {before.name} no longer find it.
        </p>
      )}
      <ColumnFields
        name="add_columns"
        legend="Columns to add"
        columns={added}
        onChange={setAdded}
      />
    </Form>
  );
}

interface DeleteDialogProps extends DatasetDialogProps {
  readonly onDeleted: () => void;
}

export function DeleteDialog({ dataset, isOpen, onClose, onDeleted }: DeleteDialogProps) {
  const remove = useDeleteDataset(dataset.id);
  const rows = dataset.rows === 1 ? "Its row is" : `Its ${countOf(dataset.rows, "row")} are`;
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete dataset ${dataset.name}?`}
      action="Delete dataset"
      typeName={dataset.name}
      onConfirm={async () => {
        await remove.mutateAsync();
        onDeleted();
        showToast(`Dataset ${dataset.name} is deleted`);
      }}
    >
      {rows} lost. Workflows that read or write it fail, and BI keys no longer find it.
    </ConfirmDialog>
  );
}
