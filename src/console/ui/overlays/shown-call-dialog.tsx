import { curlOf, type ShownCall, wordsOfCredential } from "../../lib/clients/curl.ts";
import { CodeBlock } from "../text/code-block.tsx";
import { Dialog } from "./dialog.tsx";

export interface CallProps {
  /** A chat draws itself with each token, and its call holds all of its words: such a call is made when it is seen. */
  readonly call: ShownCall | (() => ShownCall);
}

export interface ShownCallDialogProps extends CallProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** A call as it is typed in a terminal. */
export function ShownCallDialog({ call, isOpen, onClose }: ShownCallDialogProps) {
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
