import { Suspense } from "react";
import type { IssuedApiKey } from "../../api/queries/api-keys.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { lazyPart } from "../../ui/lazy-part.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";

/** Not needed for the list of keys. Where it is gone from the server, the secret stays on the screen. */
const KeyInUse = lazyPart(async () => (await import("./key-in-use.tsx")).KeyInUse, NotLoaded);

interface IssuedDialogProps {
  readonly issued: IssuedApiKey | undefined;
  readonly onClose: () => void;
}

/** A key's secret, which is shown this once, and how clients use it: only its own button closes the dialog. */
export function IssuedDialog({ issued, onClose }: IssuedDialogProps) {
  return (
    <Dialog
      isOpen={issued !== undefined}
      onClose={onClose}
      title={`The secret of ${issued?.name ?? ""}`}
      description="It is shown this once. Who has it can use the gateway as this key."
      isWide
      isFirm
    >
      {issued !== undefined && (
        <>
          <CodeBlock label="The key" text={issued.key} />
          <Suspense fallback={<Skeleton shape="block" label="The clients are loading" />}>
            <KeyInUse issued={issued} />
          </Suspense>
          <div className="flex justify-end">
            <Button look="primary" onClick={onClose}>
              I have copied it
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}

function NotLoaded() {
  return (
    <p className="text-muted">
      The texts for clients could not be loaded. Copy the key, then reload the page: Connect has
      them too.
    </p>
  );
}
