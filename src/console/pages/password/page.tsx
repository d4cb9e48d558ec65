import { Navigate, useNavigate } from "@tanstack/react-router";
import { useSession } from "../../api/queries/session.ts";
import { PasswordForm } from "../../parts/accounts/password-form.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";

/** The change of a password that somebody else set, before anything else can be done. */
export function Page() {
  const session = useSession();
  const navigate = useNavigate();
  if (session.isPending) return <Skeleton shape="block" label="The page is loading" />;
  if (session.isError) return <Navigate to="/login" replace />;
  return (
    <main className="mx-auto grid min-h-dvh max-w-sm content-center gap-6 p-4">
      <div className="grid gap-1">
        <h1 data-page-title tabIndex={-1} className="text-2xl outline-none">
          Change your password
        </h1>
        {session.data.must_change_password && (
          <p className="text-muted">
            Somebody else set it for {session.data.username}. Choose your own to go on.
          </p>
        )}
      </div>
      <PasswordForm onDone={() => void navigate({ to: "/", replace: true })} />
    </main>
  );
}
