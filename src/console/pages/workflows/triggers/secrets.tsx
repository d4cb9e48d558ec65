import { Trash2 } from "lucide-react";
import { useState } from "react";
import {
  useDeleteWorkflowSecret,
  usePutWorkflowSecret,
  useWorkflowSecrets,
} from "../../../api/queries/workflow-secrets.ts";
import { Button } from "../../../ui/buttons/button.tsx";
import { IconButton } from "../../../ui/buttons/icon-button.tsx";
import { TextField } from "../../../ui/forms/field.tsx";
import { Form } from "../../../ui/forms/form.tsx";
import { ConfirmDialog } from "../../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../../ui/overlays/dialog.tsx";
import { showToast } from "../../../ui/overlays/toast.tsx";
import { ErrorCard } from "../../../ui/status/error-card.tsx";
import { Skeleton } from "../../../ui/status/skeleton.tsx";
import { Time } from "../../../ui/text/time.tsx";

/** The caller's secrets, by name: steps name them, and nobody reads them again. */
export function Secrets() {
  const list = useWorkflowSecrets();
  const [isAdding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<string>();
  const remove = useDeleteWorkflowSecret();
  const close = () => setAdding(false);
  return (
    <section className="grid gap-2" aria-labelledby="secrets">
      <h2 id="secrets" className="text-lg">
        Your secrets
      </h2>
      <p className="text-muted">
        Steps of your workflows name them, as {'{"secret": "chat"}'} in headers. They are stored
        encrypted and never shown.
      </p>
      {list.error !== null && (
        <ErrorCard what="The secrets could not be loaded" error={list.error} onRetry={list.retry} />
      )}
      {list.isLoading && <Skeleton shape="lines" label="The secrets are loading" count={2} />}
      <ul className="grid gap-1">
        {list.rows.map(({ name, updated_at: at }) => (
          <li key={name} className="flex items-center gap-3">
            <code className="min-w-0 break-all font-mono text-sm">{name}</code>
            <span className="text-sm text-muted">
              stored <Time value={at} isRelative />
            </span>
            <IconButton
              icon={Trash2}
              label={`Delete secret ${name}`}
              onClick={() => setDeleting(name)}
            />
          </li>
        ))}
      </ul>
      {list.hasMore && (
        <div>
          <Button onClick={list.more}>Show more</Button>
        </div>
      )}
      <div>
        <Button onClick={() => setAdding(true)}>Store secret</Button>
      </div>
      <Dialog isOpen={isAdding} onClose={close} title="Store secret">
        <StoreForm onClose={close} />
      </Dialog>
      <ConfirmDialog
        isOpen={deleting !== undefined}
        onClose={() => setDeleting(undefined)}
        title={`Delete secret ${deleting ?? ""}?`}
        action="Delete secret"
        onConfirm={() => remove.mutateAsync(deleting ?? "")}
      >
        Steps that name it fail in their next run.
      </ConfirmDialog>
    </section>
  );
}

function StoreForm({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [secret, setSecret] = useState("");
  const put = usePutWorkflowSecret();
  return (
    <Form
      action="Store secret"
      onCancel={onClose}
      disabledReason={name === "" ? "Give it a name first." : undefined}
      onSubmit={async () => {
        await put.mutateAsync({ name, secret });
        onClose();
        showToast(`Secret ${name} is stored`);
      }}
    >
      <TextField
        name="name"
        label="Name"
        hint="Letters, digits, _ . and -. A name that is there gets the new value."
        value={name}
        onChange={setName}
        autoCapitalize="none"
        spellCheck={false}
      />
      <TextField
        name="secret"
        label="Value"
        type="password"
        autoComplete="new-password"
        value={secret}
        onChange={setSecret}
      />
    </Form>
  );
}
