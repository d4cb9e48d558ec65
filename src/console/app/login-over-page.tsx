import { lazy, useEffect, useState } from "react";
import { onSignedOut } from "../api/errors.ts";
import { useSession } from "../api/queries/session.ts";
import { OnceOpen } from "../ui/once-open.tsx";

const loadDialog = async () => ({ default: (await import("./login-dialog.tsx")).LoginDialog });
const LoginDialog = lazy(loadDialog);

/** The login over the page when the session has ended: the page and what was typed there stay. */
export function LoginOverPage() {
  const session = useSession();
  const [isOut, setOut] = useState(false);
  useEffect(() => onSignedOut(() => setOut(true)), []);
  useEffect(() => {
    // Fetched soon: a server that was upgraded meanwhile may no longer have it when the session ends.
    loadDialog().catch(() => undefined);
  }, []);
  const username = session.data?.username ?? "";
  const goOn = (user: { readonly username: string }) => {
    // Another person starts afresh.
    if (user.username !== username) window.location.assign("/console/");
    setOut(false);
  };
  return (
    <OnceOpen isOpen={isOut}>
      <LoginDialog isOpen={isOut} username={username} onClose={() => setOut(false)} onDone={goOn} />
    </OnceOpen>
  );
}
