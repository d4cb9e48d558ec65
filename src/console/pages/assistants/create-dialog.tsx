import { useState } from "react";
import { useCreateAssistant } from "../../api/queries/assistants.ts";
import { TextAreaField, TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { changesOf, NEW_ASSISTANT } from "./assistant-draft.ts";
import { ModelField } from "./model-field.tsx";

interface CreateDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}

/** Asks for what an assistant begins with; the rest is set beside its trial. */
export function CreateDialog({ isOpen, onClose, onCreated }: CreateDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="New assistant">
      <CreateForm onClose={onClose} onCreated={onCreated} />
    </Dialog>
  );
}

function CreateForm({ onClose, onCreated }: Omit<CreateDialogProps, "isOpen">) {
  const [draft, setDraft] = useState(NEW_ASSISTANT);
  const create = useCreateAssistant();
  const set = (change: Partial<typeof draft>) => setDraft({ ...draft, ...change });
  return (
    <Form
      action="Create assistant"
      onCancel={onClose}
      disabledReason={draft.name.trim() === "" ? "The assistant has no name yet." : undefined}
      onSubmit={async () => {
        const created = await create.mutateAsync(changesOf(draft, NEW_ASSISTANT));
        onClose();
        onCreated(created.id);
      }}
    >
      <TextField
        name="name"
        label="Name"
        hint="Programs call it by this name, as a model."
        required
        value={draft.name}
        onChange={(name) => set({ name })}
      />
      <ModelField value={draft.model} onChange={(model) => set({ model })} />
      <TextAreaField
        name="instructions"
        label="Instructions"
        hint="They stand before what a client says."
        rows={6}
        value={draft.instructions}
        onChange={(instructions) => set({ instructions })}
      />
    </Form>
  );
}
