import { useState } from "react";
import { useLoginMethods } from "../../api/queries/session.ts";
import {
  type User,
  useIdentities,
  useLinkIdentity,
  useUnlinkIdentities,
} from "../../api/queries/users.ts";
import { LinkedAccounts } from "../../parts/accounts/linked-accounts.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";

/** The accounts of the sign-in provider that a user is linked to. */
export function Identities({ user }: { readonly user: User }) {
  const { data, error, refetch } = useIdentities(user.id);
  const hasProvider = useLoginMethods().data?.oidc ?? false;
  const [open, setOpen] = useState<"link" | "unlink">();
  const unlink = useUnlinkIdentities(user.id);
  const identities = data?.data ?? [];
  return (
    <section className="grid gap-2" aria-labelledby="identities">
      <h3 id="identities" className="font-medium">
        Sign-in accounts
      </h3>
      {error !== null && (
        <ErrorCard
          what="The accounts could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {data !== undefined && (
        <LinkedAccounts identities={identities} none="None: the user logs in with a password." />
      )}
      <div className="flex flex-wrap gap-2">
        <Button
          disabledReason={hasProvider ? undefined : "No provider is set in OIDC_ISSUER."}
          onClick={() => setOpen("link")}
        >
          Link account
        </Button>
        {identities.length > 0 && (
          <Button onClick={() => setOpen("unlink")}>Unlink all accounts</Button>
        )}
      </div>
      <Dialog isOpen={open === "link"} onClose={() => setOpen(undefined)} title="Link account">
        <LinkForm user={user} onClose={() => setOpen(undefined)} />
      </Dialog>
      <ConfirmDialog
        isOpen={open === "unlink"}
        onClose={() => setOpen(undefined)}
        title={`Unlink ${user.username} from all accounts?`}
        action="Unlink accounts"
        onConfirm={() => unlink.mutateAsync()}
      >
        The user can no longer log in with them. The password stays.
      </ConfirmDialog>
    </section>
  );
}

function LinkForm({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const [subject, setSubject] = useState("");
  const link = useLinkIdentity(user.id);
  return (
    <Form
      action="Link account"
      onCancel={onClose}
      onSubmit={async () => {
        await link.mutateAsync({ subject });
        onClose();
      }}
    >
      <TextField
        name="subject"
        label="Subject"
        hint="The provider's id of the account: the claim sub. It replaces another account of the provider."
        spellCheck={false}
        value={subject}
        onChange={setSubject}
      />
    </Form>
  );
}
