import { useLinkOwnAccount, useLoginMethods, useSession } from "../../api/queries/session.ts";
import { useIdentities } from "../../api/queries/users.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorCard } from "../../ui/error-card.tsx";
import { useUrlState } from "../../ui/use-url-state.ts";

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
      <Button isBusy={link.isPending} onClick={go}>
        Link account
      </Button>
    </section>
  );
}

/** The linked accounts, which administrators may list. */
function Accounts() {
  const session = useSession().data;
  const isAdmin = session?.role === "admin";
  const { data } = useIdentities(session?.id ?? "", isAdmin);
  return (
    <ul className="grid gap-1">
      {data?.data.map(({ issuer, subject }) => (
        <li key={issuer} className="break-all">
          <code className="font-mono text-sm">{subject}</code>
          <span className="block text-sm text-muted">{issuer}</span>
        </li>
      ))}
    </ul>
  );
}
