import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Dialog } from "../../ui/dialog.tsx";

export interface ShownPassword {
  readonly username: string;
  readonly password: string;
}

interface PasswordDialogProps {
  readonly shown: ShownPassword | undefined;
  readonly onClose: () => void;
}

/** A password that was generated, which is shown this once. */
export function PasswordDialog({ shown, onClose }: PasswordDialogProps) {
  return (
    <Dialog
      isOpen={shown !== undefined}
      onClose={onClose}
      title={`The password of ${shown?.username ?? ""}`}
      description="It is shown this once. It has to be changed at the first login."
      isFirm
    >
      {shown !== undefined && (
        <>
          <CodeBlock label="The password" text={shown.password} />
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
