import { useState } from "react";
import { useChangeApiKey } from "../../api/queries/api-keys.ts";
import { Form } from "../../ui/forms/form.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import type { KeyDialogProps } from "./key-actions.tsx";
import { changesOf, toDraft } from "./key-draft.ts";
import { KeyFields } from "./key-fields.tsx";

export function ChangeDialog({ isOpen, ...props }: KeyDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={props.onClose} title={`Change key ${props.apiKey.name}`}>
      <ChangeForm {...props} />
    </Dialog>
  );
}

function ChangeForm({ apiKey, onClose }: Omit<KeyDialogProps, "isOpen">) {
  // The key as it was when the form was opened: only what differs from it is sent.
  const [before] = useState(() => toDraft(apiKey));
  const [draft, setDraft] = useState(before);
  const change = useChangeApiKey(apiKey.id);
  const changes = changesOf(draft, before);
  const isSame = Object.keys(changes).length === 0;
  return (
    <Form
      action="Save key"
      onCancel={onClose}
      disabledReason={isSame ? "Nothing is changed yet." : undefined}
      onSubmit={async () => {
        await change.mutateAsync(changes);
        onClose();
        showToast(`Key ${draft.name} is changed`);
      }}
    >
      <KeyFields draft={draft} onChange={setDraft} level={before.level} />
    </Form>
  );
}
