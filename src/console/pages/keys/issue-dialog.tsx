import { useState } from "react";
import { type IssuedApiKey, useIssueApiKey } from "../../api/queries/api-keys.ts";
import { useSession } from "../../api/queries/session.ts";
import { UserPicker } from "../../parts/pickers/user-picker.tsx";
import { Field } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { NEW_KEY, toNewKey } from "./key-draft.ts";
import { KeyFields } from "./key-fields.tsx";

interface IssueDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onIssued: (issued: IssuedApiKey) => void;
}

export function IssueDialog({ isOpen, onClose, onIssued }: IssueDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="New key">
      <IssueForm onClose={onClose} onIssued={onIssued} />
    </Dialog>
  );
}

function IssueForm({ onClose, onIssued }: Omit<IssueDialogProps, "isOpen">) {
  const [draft, setDraft] = useState(NEW_KEY);
  const [owner, setOwner] = useState("");
  const isAdmin = useSession().data?.role === "admin";
  const issue = useIssueApiKey();
  return (
    <Form
      action="Issue key"
      onCancel={onClose}
      onSubmit={async () => {
        const issued = await issue.mutateAsync(toNewKey(draft, owner));
        onClose();
        onIssued(issued);
      }}
    >
      {isAdmin && (
        <Field name="owner_id" label="Owner">
          <UserPicker
            value={owner}
            onChange={setOwner}
            label="Owner"
            placeholder="You"
            className="w-full"
          />
        </Field>
      )}
      <KeyFields draft={draft} onChange={setDraft} level={NEW_KEY.level} />
    </Form>
  );
}
