import type { IssuedApiKey } from "../../api/queries/api-keys.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";

interface IssuedDialogProps {
  readonly issued: IssuedApiKey | undefined;
  readonly onClose: () => void;
}

/** A key's secret, which is shown this once: only its own button closes the dialog. */
export function IssuedDialog({ issued, onClose }: IssuedDialogProps) {
  return (
    <Dialog
      isOpen={issued !== undefined}
      onClose={onClose}
      title={`The secret of ${issued?.name ?? ""}`}
      description="It is shown this once. Who has it can use the gateway as this key."
      isFirm
    >
      {issued !== undefined && (
        <>
          <CodeBlock label="The key" text={issued.key} />
          <CodeBlock label="A first call" text={firstCall(issued.key)} />
          <div className="flex flex-wrap justify-end gap-2">
            <CopyButton text={issued.key} label="Copy key" isWide />
            <Button look="primary" onClick={onClose}>
              I have copied it
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}

function firstCall(key: string): string {
  return `curl '${window.location.origin}/v1/models' \\\n  -H 'Authorization: Bearer ${key}'`;
}
