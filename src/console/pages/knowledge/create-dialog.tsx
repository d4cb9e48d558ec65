import { useState } from "react";
import { useSession } from "../../api/queries/session.ts";
import { useCreateVectorStore } from "../../api/queries/vector-stores.ts";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { type StoreDraft, StoreFields } from "./store-fields.tsx";

interface CreateDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}

export function CreateDialog({ isOpen, onClose, onCreated }: CreateDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="New store">
      <CreateForm onClose={onClose} onCreated={onCreated} />
    </Dialog>
  );
}

const EMPTY: StoreDraft = { name: "", description: "", days: null, visibility: "private" };

function CreateForm({ onClose, onCreated }: Omit<CreateDialogProps, "isOpen">) {
  const [draft, setDraft] = useState(EMPTY);
  const [model, setModel] = useState("");
  const isAdmin = useSession().data?.role === "admin";
  const create = useCreateVectorStore();
  return (
    <Form
      action="Create store"
      onCancel={onClose}
      disabledReason={draft.name.trim() === "" ? "The store has no name yet." : undefined}
      onSubmit={async () => {
        const { name, description, days, visibility } = draft;
        const created = await create.mutateAsync({
          name,
          file_ids: [],
          ...(description !== "" && { description }),
          ...(days !== null && { expires_after: { anchor: "last_active_at", days } }),
          ext: { visibility, folder: null, ...(model !== "" && { embedding_model: model }) },
        });
        onClose();
        onCreated(created.id);
      }}
    >
      <StoreFields draft={draft} onChange={setDraft} isAdmin={isAdmin} />
      <TextField
        name="ext.embedding_model"
        label="Embedding model"
        hint="Empty is the server's own. A store keeps its model; another one takes a reindex."
        value={model}
        onChange={setModel}
        spellCheck={false}
        autoCapitalize="none"
      />
    </Form>
  );
}
