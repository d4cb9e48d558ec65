import { Braces } from "lucide-react";
import { useState } from "react";
import { curlOf, type ShownCall, wordsOfCredential } from "../../lib/clients/curl.ts";
import { IconButton } from "../buttons/icon-button.tsx";
import { CodeBlock } from "../text/code-block.tsx";
import { Dialog } from "./dialog.tsx";

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
      description={typeof shown === "function" ? undefined : wordsOfCredential(shown)}
      isWide
    >
      {isOpen && typeof shown !== "function" && (
        <CodeBlock label="The command" text={curlOf(shown, window.location.origin)} />
      )}
    </Dialog>
  );
}
