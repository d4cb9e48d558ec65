import { useState } from "react";
import {
  type Connection,
  useAddConnection,
  useChangeConnection,
  useDeleteConnection,
  useTryConnection,
} from "../../api/queries/connections.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { changesOf, NEW_CONNECTION, toDraft, toNewConnection } from "./connection-draft.ts";
import { ConnectionFields } from "./connection-fields.tsx";
import { TrialResult } from "./trial-result.tsx";

interface AddDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onAdded: (connection: Connection) => void;
}

export function AddDialog({ isOpen, onClose, onAdded }: AddDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Add connection">
      <AddForm onClose={onClose} onAdded={onAdded} />
    </Dialog>
  );
}

function AddForm({ onClose, onAdded }: Omit<AddDialogProps, "isOpen">) {
  const [draft, setDraft] = useState(NEW_CONNECTION);
  const add = useAddConnection();
  const trial = useTryConnection();
  return (
    <Form
      action="Add connection"
      onCancel={onClose}
      onSubmit={async () => {
        const connection = await add.mutateAsync(toNewConnection(draft));
        onClose();
        onAdded(connection);
        showToast(`Connection ${connection.name} is added`);
      }}
    >
      <ConnectionFields draft={draft} onChange={setDraft} isNew />
      <div>
        <Button isBusy={trial.isPending} onClick={() => trial.mutate(toNewConnection(draft))}>
          Test connection
        </Button>
      </div>
      {trial.data !== undefined && <TrialResult trial={trial.data} />}
      {trial.error !== null && (
        <ErrorCard what="The connection could not be tested" error={trial.error} />
      )}
    </Form>
  );
}

interface ConnectionDialogProps {
  readonly connection: Connection;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function ChangeDialog({ isOpen, ...props }: ConnectionDialogProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={props.onClose}
      title={`Change connection ${props.connection.name}`}
    >
      <ChangeForm {...props} />
    </Dialog>
  );
}

function ChangeForm({ connection, onClose }: Omit<ConnectionDialogProps, "isOpen">) {
  const [before] = useState(() => toDraft(connection));
  const [draft, setDraft] = useState(before);
  const change = useChangeConnection(connection.id);
  const changes = changesOf(draft, before);
  const isSame = Object.keys(changes).length === 0;
  return (
    <Form
      action="Save connection"
      onCancel={onClose}
      disabledReason={isSame ? "Nothing is changed yet." : undefined}
      onSubmit={async () => {
        await change.mutateAsync(changes);
        onClose();
        showToast(`Connection ${draft.name} is changed`);
      }}
    >
      <ConnectionFields
        draft={draft}
        onChange={setDraft}
        hasPassword={connection.has_password && !connection.password_lost}
      />
    </Form>
  );
}

interface DeleteDialogProps extends ConnectionDialogProps {
  readonly onDeleted: () => void;
}

export function DeleteDialog({ connection, isOpen, onClose, onDeleted }: DeleteDialogProps) {
  const remove = useDeleteConnection(connection.id);
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete connection ${connection.name}?`}
      action="Delete connection"
      typeName={connection.name}
      onConfirm={async () => {
        await remove.mutateAsync();
        onDeleted();
        showToast(`Connection ${connection.name} is deleted`);
      }}
    >
      Models can no longer read it, and its password is gone. Assistants and keys that name it keep
      the name. The database itself stays as it is.
    </ConfirmDialog>
  );
}
