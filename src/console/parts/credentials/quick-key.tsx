import { useState } from "react";
import { type IssuedApiKey, useIssueApiKey } from "../../api/queries/api-keys.ts";
import { Checkbox } from "../../ui/forms/checkbox.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";

interface QuickKeyProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onIssued: (issued: IssuedApiKey) => void;
}

/** Issues a key of one's own by its name alone, where a client is about to be connected. */
export function QuickKey({ isOpen, onClose, onIssued }: QuickKeyProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="New key"
      description="It belongs to you and has no limits of its own. API keys has them, with expiry and addresses."
    >
      <QuickKeyForm onClose={onClose} onIssued={onIssued} />
    </Dialog>
  );
}

function QuickKeyForm({ onClose, onIssued }: Omit<QuickKeyProps, "isOpen">) {
  const [name, setName] = useState("");
  const [passthrough, setPassthrough] = useState(false);
  const issue = useIssueApiKey();
  return (
    <Form
      action="Issue key"
      onCancel={onClose}
      onSubmit={async () => {
        const issued = await issue.mutateAsync({ name, passthrough });
        onClose();
        onIssued(issued);
      }}
    >
      <TextField
        name="name"
        label="Name"
        hint="Who or what will call with it, such as notebook or reporting."
        value={name}
        onChange={setName}
      />
      <Checkbox
        name="passthrough"
        label="Passthrough"
        hint="The client's messages and tools reach the model unchanged, as coding agents need."
        isChecked={passthrough}
        onChange={setPassthrough}
      />
    </Form>
  );
}
