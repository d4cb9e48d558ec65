import { useState } from "react";
import {
  type BiKey,
  type IssuedBiKey,
  useChangeBiKey,
  useIssueBiKey,
  useRevokeBiKey,
  useRotateBiKey,
} from "../../api/queries/bi-keys.ts";
import { changedFields } from "../../lib/changed-fields.ts";
import { Form } from "../../ui/forms/form.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { NEW_BI_KEY, toDraft, toFields } from "./key-draft.ts";
import { BiKeyFields } from "./key-fields.tsx";

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

interface SecretProps {
  /** Called with a secret that is shown this once. */
  readonly onIssued: (issued: IssuedBiKey) => void;
}

interface KeyProps {
  readonly biKey: BiKey;
}

export function IssueDialog({ isOpen, ...props }: DialogProps & SecretProps) {
  return (
    <Dialog isOpen={isOpen} onClose={props.onClose} title="New BI key">
      <IssueForm {...props} />
    </Dialog>
  );
}

function IssueForm({ onClose, onIssued }: Omit<DialogProps, "isOpen"> & SecretProps) {
  const [draft, setDraft] = useState(NEW_BI_KEY);
  const issue = useIssueBiKey();
  return (
    <Form
      action="Issue BI key"
      onCancel={onClose}
      onSubmit={async () => {
        const issued = await issue.mutateAsync(toFields(draft));
        onClose();
        onIssued(issued);
      }}
    >
      <BiKeyFields draft={draft} onChange={setDraft} />
    </Form>
  );
}

export function ChangeDialog({ isOpen, ...props }: DialogProps & KeyProps) {
  return (
    <Dialog isOpen={isOpen} onClose={props.onClose} title={`Change BI key ${props.biKey.name}`}>
      <ChangeForm {...props} />
    </Dialog>
  );
}

function ChangeForm({ biKey, onClose }: Omit<DialogProps, "isOpen"> & KeyProps) {
  // The key as it was when the form was opened: only what differs from it is sent.
  const [before] = useState(() => toDraft(biKey));
  const [draft, setDraft] = useState(before);
  const change = useChangeBiKey(biKey.id);
  const changes = changedFields(toFields(draft), toFields(before));
  const isSame = Object.keys(changes).length === 0;
  return (
    <Form
      action="Save BI key"
      onCancel={onClose}
      disabledReason={isSame ? "Nothing is changed yet." : undefined}
      onSubmit={async () => {
        await change.mutateAsync(changes);
        onClose();
        showToast(`BI key ${draft.name} is changed`);
      }}
    >
      <BiKeyFields draft={draft} onChange={setDraft} />
    </Form>
  );
}

export function RotateDialog({ biKey, onIssued, ...dialog }: DialogProps & KeyProps & SecretProps) {
  const rotate = useRotateBiKey(biKey.id);
  return (
    <ConfirmDialog
      {...dialog}
      title={`Rotate BI key ${biKey.name}?`}
      action="Rotate BI key"
      onConfirm={async () => onIssued(await rotate.mutateAsync())}
    >
      It gets a new secret, which is shown once. The old one stops working at once, and open
      connections end within two seconds. Tables and limits stay.
    </ConfirmDialog>
  );
}

/** Switches a key off or on again. */
export function StateDialog({ biKey, ...dialog }: DialogProps & KeyProps) {
  const change = useChangeBiKey(biKey.id);
  const isActive = biKey.state === "active";
  return (
    <ConfirmDialog
      {...dialog}
      title={`${isActive ? "Disable" : "Enable"} BI key ${biKey.name}?`}
      action={isActive ? "Disable BI key" : "Enable BI key"}
      onConfirm={async () => {
        await change.mutateAsync({ state: isActive ? "inactive" : "active" });
        showToast(`BI key ${biKey.name} is ${isActive ? "off" : "active again"}`);
      }}
    >
      {isActive
        ? "Its clients are refused until it is enabled again, and open connections end within two seconds."
        : "Its clients can read again, within its limits."}
    </ConfirmDialog>
  );
}

export function RevokeDialog({
  biKey,
  onRevoked,
  ...dialog
}: DialogProps & KeyProps & { readonly onRevoked: () => void }) {
  const revoke = useRevokeBiKey(biKey.id);
  return (
    <ConfirmDialog
      {...dialog}
      title={`Revoke BI key ${biKey.name}?`}
      action="Revoke BI key"
      typeName={biKey.name}
      onConfirm={async () => {
        await revoke.mutateAsync();
        onRevoked();
        showToast(`BI key ${biKey.name} is revoked`);
      }}
    >
      Its clients are refused at once, and open connections end within two seconds. Its statements
      stay for 30 days.
    </ConfirmDialog>
  );
}
