import { Navigate, useNavigate, useSearch } from "@tanstack/react-router";
import { useLoginMethods, useSession } from "../../api/queries/session.ts";
import { useHealth } from "../../api/queries/status.ts";
import { readNext, type UrlState } from "../../lib/url-state.ts";
import { LoginForm } from "../../parts/accounts/login-form.tsx";

/** The login. It goes on to `next`, where a page asked for it. */
export function Page() {
  const session = useSession();
  const { data: health } = useHealth();
  const hasPassword = useLoginMethods().data?.password ?? true;
  const navigate = useNavigate();
  const search: UrlState = useSearch({ strict: false });
  const next = readNext(search["next"], "/console/") ?? "/console/";
  const goOn = (path: string) =>
    void navigate({ href: path.slice("/console".length), replace: true });
  if (session.data !== undefined && !session.isError) return <Navigate to="/" replace />;
  return (
    <main className="mx-auto grid min-h-dvh max-w-sm content-center gap-6 p-4">
      <div className="grid gap-1">
        <p className="text-muted">Inference Gateway</p>
        <h1 data-page-title tabIndex={-1} className="text-2xl outline-none">
          Sign in
        </h1>
      </div>
      {health?.license?.warning != null && (
        <p className="rounded-lg bg-warn-soft p-3 text-warn">{health.license.warning}</p>
      )}
      <LoginForm
        next={next}
        onDone={({ mustChange }) => (mustChange ? void navigate({ to: "/password" }) : goOn(next))}
      />
      {hasPassword && (
        <details className="text-sm text-muted">
          <summary className="min-h-6 w-fit">Signing in for the first time?</summary>
          <p className="pt-2">
            The user is <code className="font-mono">admin</code>. The password is ADMIN_PASSWORD
            where that was set before the first start; else it stands in the file{" "}
            <code className="font-mono">first-start.txt</code> in the gateway&apos;s data folder. A
            forgotten one is replaced with <code className="font-mono">npm run reset-password</code>
            .
          </p>
        </details>
      )}
    </main>
  );
}
