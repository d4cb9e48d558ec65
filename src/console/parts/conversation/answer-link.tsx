import { ExternalLink, ImageOff } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "../../ui/buttons/button.tsx";
import { CopyButton } from "../../ui/buttons/copy-button.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { OnceOpen } from "../../ui/overlays/once-open.tsx";

interface AnswerLinkProps {
  readonly href: string;
  readonly host: string;
  readonly asks: boolean;
  readonly children: ReactNode;
}

const LINK = "text-accent underline underline-offset-2";

/** A link that a model wrote: its host is shown, and one that could carry words away asks first. */
export function AnswerLink({ href, host, asks, children }: AnswerLinkProps) {
  const [isAsking, setAsking] = useState(false);
  const open = (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" className={LINK}>
      {children}
    </a>
  );
  const where = host !== "" && <span className="text-sm text-muted"> ({host})</span>;
  if (!asks) {
    return (
      <>
        {open}
        {where}
      </>
    );
  }
  return (
    <>
      <button type="button" className={LINK} onClick={() => setAsking(true)}>
        {children}
      </button>
      {where}
      <OnceOpen isOpen={isAsking}>
        <Dialog
          isOpen={isAsking}
          onClose={() => setAsking(false)}
          title="Open this address?"
          description="A model wrote it. A long address can carry words of this chat to whoever runs it."
        >
          <p className="max-h-[15rem] overflow-y-auto rounded-md bg-sunken p-3 font-mono text-sm break-all">
            {href}
          </p>
          <div className="flex flex-wrap justify-end gap-2">
            <CopyButton text={href} label="Copy the address" isWide />
            <Button
              look="primary"
              onClick={() => {
                setAsking(false);
                window.open(href, "_blank", "noopener,noreferrer");
              }}
            >
              <ExternalLink size={16} aria-hidden />
              Open {host}
            </Button>
          </div>
        </Dialog>
      </OnceOpen>
    </>
  );
}

/** Stands where a model put a picture of elsewhere. Loading it would tell its host what was said. */
export function PictureCard({ host, text }: { readonly host: string; readonly text: string }) {
  return (
    <span className="inline-flex max-w-full items-center gap-2 rounded-md border border-line bg-sunken px-2 py-1 text-sm">
      <ImageOff size={16} aria-hidden className="shrink-0" />
      <span className="min-w-0 break-words">
        {text !== "" && `${text} · `}Picture from {host === "" ? "elsewhere" : host} is not loaded
      </span>
    </span>
  );
}
