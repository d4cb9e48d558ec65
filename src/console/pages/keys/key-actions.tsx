import { useState } from "react";
import {
  type ApiKey,
  type IssuedApiKey,
  useChangeApiKey,
  useDeleteApiKey,
  useRotateApiKey,
} from "../../api/queries/api-keys.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";

export interface KeyDialogProps {
  readonly apiKey: ApiKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

const OVERLAPS = [
  { value: "0", label: "None: the old secret ends at once" },
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "1 day" },
  { value: "604800", label: "7 days" },
  { value: "2592000", label: "30 days" },
] as const;

interface RotateDialogProps extends KeyDialogProps {
  readonly onIssued: (issued: IssuedApiKey) => void;
}

export function RotateDialog({ isOpen, ...props }: RotateDialogProps) {
  const { apiKey, onClose } = props;
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Rotate key ${apiKey.name}?`}
      description="It gets a new secret, which is shown once. Limits and usage stay."
    >
      <RotateForm {...props} />
    </Dialog>
  );
}

function RotateForm({ apiKey, onClose, onIssued }: Omit<RotateDialogProps, "isOpen">) {
  const [overlap, setOverlap] = useState<(typeof OVERLAPS)[number]["value"]>("86400");
  const rotate = useRotateApiKey(apiKey.id);
  return (
    <Form
      action="Rotate key"
      onCancel={onClose}
      onSubmit={async () => {
        const issued = await rotate.mutateAsync(Number(overlap));
        onClose();
        onIssued(issued);
      }}
    >
      <SelectField
        name="overlap_seconds"
        label="How long the old secret goes on working"
        value={overlap}
        onChange={setOverlap}
        choices={OVERLAPS}
      />
    </Form>
  );
}

/** Switches a key off or on again. */
export function StateButton({ apiKey }: { readonly apiKey: ApiKey }) {
  const [isAsking, setAsking] = useState(false);
  const change = useChangeApiKey(apiKey.id);
  const set = async (state: ApiKey["state"]) => {
    await change.mutateAsync({ state });
    showToast(`Key ${apiKey.name} is ${state === "active" ? "active again" : "off"}`);
  };
  const isActive = apiKey.state === "active";
  return (
    <>
      <Button onClick={() => setAsking(true)}>{isActive ? "Disable key" : "Enable key"}</Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={isActive ? `Disable key ${apiKey.name}?` : `Enable key ${apiKey.name}?`}
        action={isActive ? "Disable key" : "Enable key"}
        onConfirm={() => set(isActive ? "inactive" : "active")}
      >
        {isActive
          ? "Its clients get 401 until it is enabled again."
          : "Its clients can use the gateway again, within its limits."}
      </ConfirmDialog>
    </>
  );
}

interface DeleteDialogProps extends KeyDialogProps {
  readonly onDeleted: () => void;
}

export function DeleteDialog({ apiKey, isOpen, onClose, onDeleted }: DeleteDialogProps) {
  const remove = useDeleteApiKey(apiKey.id);
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete key ${apiKey.name}?`}
      action="Delete key"
      typeName={apiKey.name}
      onConfirm={async () => {
        await remove.mutateAsync();
        onDeleted();
        showToast(`Key ${apiKey.name} is deleted`);
      }}
    >
      Its clients get 401 at once. Its usage stays.
    </ConfirmDialog>
  );
}
