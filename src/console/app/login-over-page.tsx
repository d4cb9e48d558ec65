import { useEffect, useState } from "react";
import { onSignedOut } from "../api/errors.ts";
import { useSession } from "../api/queries/session.ts";
import { LoginForm } from "../parts/login-form.tsx";
import { Dialog } from "../ui/dialog.tsx";

/** The login over the page when the session has ended: the page and what was typed there stay. */
export function LoginOverPage() {
  const session = useSession();
  const [isOut, setOut] = useState(false);
  useEffect(() => onSignedOut(() => setOut(true)), []);
  const username = session.data?.username ?? "";
  const goOn = (user: { readonly username: string }) => {
    // Another person starts afresh.
    if (user.username !== username) window.location.assign("/console/");
    setOut(false);
  };
  return (
    <Dialog
      isOpen={isOut}
      onClose={() => setOut(false)}
      title="Your session has ended"
      description="Log in again to go on. What you typed is still here."
      isFirm
    >
      <LoginForm username={username} next={here()} onDone={goOn} />
    </Dialog>
  );
}

function here(): string {
  return `${window.location.pathname}${window.location.search}`;
}
