import { useCallback, useEffect, useRef, useState } from "react";
import { onSignedOut, tellSignedIn } from "../api/errors.ts";
import { useSession } from "../api/queries/session.ts";
import { OnceOpen } from "../ui/overlays/once-open.tsx";
import { lazyPart } from "../ui/status/lazy-part.tsx";

const loadDialog = async () => (await import("./login-dialog.tsx")).LoginDialog;
const LoginDialog = lazyPart(loadDialog);

/** Another person gets nothing of the page. */
function startAfresh(): void {
  window.location.assign("/console/");
}

/** The login over the page when the session has ended: the page and what was typed there stay. */
export function LoginOverPage() {
  const { data, refetch } = useSession();
  // Whose session has ended.
  const [whose, setWhose] = useState<string>();
  const isOut = whose !== undefined;
  // Whose page this is: what is read and typed here belongs to nobody else.
  const [owner] = useState(data?.id);
  const isOther = data !== undefined && data.id !== owner;
  useEffect(() => {
    if (isOther) startAfresh();
  }, [isOther]);
  const username = useRef("");
  username.current = data?.username ?? "";
  useEffect(() => onSignedOut(() => setWhose((before) => before ?? username.current)), []);
  useEffect(() => {
    // Fetched soon: a server that was upgraded meanwhile may no longer have it when the session ends.
    loadDialog().catch(() => undefined);
  }, []);
  const goOn = useCallback(
    (user: { readonly username: string }) => {
      if (user.username !== whose) return startAfresh();
      setWhose(undefined);
      tellSignedIn();
    },
    [whose],
  );
  useEffect(() => {
    if (!isOut) return;
    // The provider's page is another tab, from which one comes back with a session.
    const look = () =>
      void refetch().then((session) => {
        if (session.isSuccess) goOn(session.data);
      });
    window.addEventListener("focus", look);
    return () => window.removeEventListener("focus", look);
  }, [isOut, refetch, goOn]);
  return (
    <OnceOpen isOpen={isOut}>
      <LoginDialog
        isOpen={isOut}
        username={whose ?? ""}
        onClose={() => setWhose(undefined)}
        onDone={goOn}
      />
    </OnceOpen>
  );
}
