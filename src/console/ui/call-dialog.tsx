import { Braces } from "lucide-react";
import { useState } from "react";
import { curlOf, type ShownCall } from "../lib/curl.ts";
import { CodeBlock } from "./code-block.tsx";
import { Dialog } from "./dialog.tsx";
import { IconButton } from "./icon-button.tsx";

const CREDENTIALS = {
  key: "GATEWAY_KEY is an API key, sk-….",
  token: "GATEWAY_TOKEN is a service token, sv-…, with the scope for it.",
  bi: "GATEWAY_BI_KEY is a BI key, bk-….",
  session: "GATEWAY_SESSION is the token of a login, ses_…, from POST /api/auth/login.",
} as const;

interface CallButtonProps {
  /** A chat draws itself with each token, and its call holds all of its words: such a call is made when it is seen. */
  readonly call: ShownCall | (() => ShownCall);
}

/** "Show the call": what this view asks the gateway, to be typed in a terminal. */
export function CallButton({ call }: CallButtonProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <IconButton icon={Braces} label="Show the call" look="plain" onClick={() => setOpen(true)} />
      <CallDialog call={call} isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}

interface CallDialogProps extends CallButtonProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** The call itself, where another button opens it. */
export function CallDialog({ call, isOpen, onClose }: CallDialogProps) {
  const shown = isOpen && typeof call === "function" ? call() : call;
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="The call of this view"
      description={typeof shown === "function" ? undefined : CREDENTIALS[shown.credential]}
      isWide
    >
      {isOpen && typeof shown !== "function" && (
        <CodeBlock label="The command" text={curlOf(shown, window.location.origin)} />
      )}
    </Dialog>
  );
}
