import { Check, Copy, Hash, type LucideIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { Dialog } from "../overlays/dialog.tsx";
import { OnceOpen } from "../overlays/once-open.tsx";
import { Button } from "./button.tsx";
import { copyText } from "./copy-text.ts";
import { IconButton } from "./icon-button.tsx";

interface CopyButtonProps {
  readonly text: string;
  /** What is copied: "Copy the key". */
  readonly label: string;
  /** What tells it from another one beside it. */
  readonly sign?: LucideIcon;
  /** Shows the label beside the sign. */
  readonly isWide?: boolean;
  readonly onCopied?: () => void;
}

const SHOWN_MS = 2_000;

/** Copies a text. Where the browser gives no clipboard, as over plain HTTP, the text is shown selected. */
export function CopyButton(props: CopyButtonProps) {
  const { text, label, sign = Copy, isWide = false, onCopied } = props;
  const [state, setState] = useState<"idle" | "copied" | "shown">("idle");
  useEffect(() => {
    if (state !== "copied") return;
    const timer = setTimeout(() => setState("idle"), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    const isCopied = await copyText(text);
    setState(isCopied ? "copied" : "shown");
    if (isCopied) onCopied?.();
  };
  const Icon = state === "copied" ? Check : sign;
  const shownLabel = state === "copied" ? "Copied" : label;
  return (
    <>
      {isWide ? (
        <Button onClick={() => void copy()}>
          <Icon size={16} aria-hidden />
          {shownLabel}
        </Button>
      ) : (
        <IconButton icon={Icon} label={shownLabel} onClick={() => void copy()} />
      )}
      <span aria-live="polite" className="sr-only">
        {state === "copied" && "Copied"}
      </span>
      {/* A list can have hundreds of these buttons. */}
      <OnceOpen isOpen={state === "shown"}>
        <Dialog
          isOpen={state === "shown"}
          onClose={() => setState("idle")}
          title="Copy by hand"
          description="The browser gives no clipboard to pages without TLS. The text is selected: press Ctrl C or ⌘ C."
        >
          <textarea
            readOnly
            rows={4}
            aria-label="The text to copy"
            value={text}
            ref={(element) => element?.select()}
            className="control w-full break-all py-2 font-mono text-sm"
          />
        </Dialog>
      </OnceOpen>
    </>
  );
}

/** Copies the id of a request. It has a sign of its own: where an id stands, something else is often copied too. */
export function CopyRequestId({ id }: { readonly id: string }) {
  return <CopyButton text={id} label="Copy the request's id" sign={Hash} />;
}
