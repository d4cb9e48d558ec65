import { useState } from "react";
import {
  useLinkOwnAccount,
  useLoginMethods,
  useOwnIdentities,
  useUnlinkOwnIdentities,
} from "../../api/queries/session.ts";
import { LinkedAccounts } from "../../parts/accounts/linked-accounts.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";

/** Where the provider sends the browser back to. */
const RETURN_TO = "/console/account?linked=yes";
const DEFAULTS = { linked: "" };

/** The accounts of the sign-in provider with which one can log in; nothing where there is no provider. */
export function OwnIdentities() {
  const methods = useLoginMethods().data;
  const [{ linked }] = useUrlState(DEFAULTS);
  const link = useLinkOwnAccount();
  if (methods === undefined || !methods.oidc) return null;
  const provider = methods.oidc_name ?? "the provider";
  const go = () => link.mutate(RETURN_TO, { onSuccess: ({ url }) => window.location.assign(url) });
  return (
    <section className="grid justify-items-start gap-3" aria-labelledby="identities">
      <h2 id="identities" className="text-lg">
        Sign-in account
      </h2>
      <p className="text-muted">
        Link your account at {provider} to sign in with it. It replaces another one of that
        provider.
      </p>
      {linked !== "" && (
        <p role="status" className="rounded-md bg-ok-soft px-3 py-2 text-ok">
          Your account at {provider} is linked.
        </p>
      )}
      <Accounts />
      {link.error !== null && (
        <ErrorCard what="The account could not be linked" error={link.error} />
      )}
      <div className="flex flex-wrap gap-2">
        <Button isBusy={link.isPending} onClick={go}>
          Link account
        </Button>
        <Unlink />
      </div>
    </section>
  );
}

function Unlink() {
  const identities = useOwnIdentities().data?.data ?? [];
  const unlink = useUnlinkOwnIdentities();
  const [isAsking, setAsking] = useState(false);
  if (identities.length === 0) return null;
  return (
    <>
      <Button onClick={() => setAsking(true)}>Unlink account…</Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Unlink your account?"
        action="Unlink account"
        onConfirm={() => unlink.mutateAsync()}
      >
        You can no longer log in with it. Your password stays.
      </ConfirmDialog>
    </>
  );
}

function Accounts() {
  const { data, error, refetch } = useOwnIdentities();
  if (error !== null && data === undefined) {
    return (
      <ErrorCard
        what="The accounts could not be loaded"
        error={error}
        onRetry={() => void refetch()}
      />
    );
  }
  if (data === undefined) return <Skeleton shape="rows" label="The accounts are loading" />;
  return <LinkedAccounts identities={data.data} none="None: you sign in with a password." />;
}
