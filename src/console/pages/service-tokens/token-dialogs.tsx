import { useState } from "react";
import {
  type IssuedServiceToken,
  type ServiceToken,
  useChangeServiceToken,
  useIssueServiceToken,
  useRevokeServiceToken,
  useRotateServiceToken,
} from "../../api/queries/service-tokens.ts";
import { changedFields } from "../../lib/changed-fields.ts";
import { Form } from "../../ui/forms/form.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { NEW_TOKEN, toDraft, toFields } from "./token-draft.ts";
import { TokenFields } from "./token-fields.tsx";

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

interface SecretProps {
  /** Called with a secret that is shown this once. */
  readonly onIssued: (issued: IssuedServiceToken) => void;
}

interface TokenProps {
  readonly token: ServiceToken;
}

export function IssueDialog({ isOpen, ...props }: DialogProps & SecretProps) {
  return (
    <Dialog isOpen={isOpen} onClose={props.onClose} title="New service token">
      <IssueForm {...props} />
    </Dialog>
  );
}

function IssueForm({ onClose, onIssued }: Omit<DialogProps, "isOpen"> & SecretProps) {
  const [draft, setDraft] = useState(NEW_TOKEN);
  const issue = useIssueServiceToken();
  return (
    <Form
      action="Issue token"
      onCancel={onClose}
      onSubmit={async () => {
        const issued = await issue.mutateAsync(toFields(draft));
        onClose();
        onIssued(issued);
      }}
    >
      <TokenFields draft={draft} onChange={setDraft} />
    </Form>
  );
}

export function ChangeDialog({ isOpen, ...props }: DialogProps & TokenProps) {
  return (
    <Dialog isOpen={isOpen} onClose={props.onClose} title={`Change token ${props.token.name}`}>
      <ChangeForm {...props} />
    </Dialog>
  );
}

function ChangeForm({ token, onClose }: Omit<DialogProps, "isOpen"> & TokenProps) {
  // The token as it was when the form was opened: only what differs from it is sent.
  const [before] = useState(() => toDraft(token));
  const [draft, setDraft] = useState(before);
  const change = useChangeServiceToken(token.id);
  const changes = changedFields(toFields(draft), toFields(before));
  const isSame = Object.keys(changes).length === 0;
  return (
    <Form
      action="Save token"
      onCancel={onClose}
      disabledReason={isSame ? "Nothing is changed yet." : undefined}
      onSubmit={async () => {
        await change.mutateAsync(changes);
        onClose();
        showToast(`Token ${draft.name} is changed`);
      }}
    >
      <TokenFields draft={draft} onChange={setDraft} />
    </Form>
  );
}

export function RotateDialog({
  token,
  onIssued,
  ...dialog
}: DialogProps & TokenProps & SecretProps) {
  const rotate = useRotateServiceToken(token.id);
  return (
    <ConfirmDialog
      {...dialog}
      title={`Rotate token ${token.name}?`}
      action="Rotate token"
      onConfirm={async () => onIssued(await rotate.mutateAsync())}
    >
      It gets a new secret, which is shown once. The old one gets 401 at once. Scopes and expiry
      stay.
    </ConfirmDialog>
  );
}

export function RevokeDialog({
  token,
  onRevoked,
  ...dialog
}: DialogProps & TokenProps & { readonly onRevoked: () => void }) {
  const revoke = useRevokeServiceToken(token.id);
  return (
    <ConfirmDialog
      {...dialog}
      title={`Revoke token ${token.name}?`}
      action="Revoke token"
      typeName={token.name}
      onConfirm={async () => {
        await revoke.mutateAsync();
        onRevoked();
        showToast(`Token ${token.name} is revoked`);
      }}
    >
      Its program gets 401 at once. What it did stays in the audit log.
    </ConfirmDialog>
  );
}
