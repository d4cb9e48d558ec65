import { IssuedDialog } from "../../parts/credentials/issued-dialog.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";

export interface ShownPassword {
  readonly username: string;
  readonly password: string;
}

interface PasswordDialogProps {
  readonly shown: ShownPassword | undefined;
  readonly onClose: () => void;
}

/** A password that was generated. */
export function PasswordDialog({ shown, onClose }: PasswordDialogProps) {
  return (
    <IssuedDialog
      issued={shown}
      onClose={onClose}
      title={({ username }) => `The password of ${username}`}
      description="It is shown this once. It has to be changed at the first login."
    >
      {({ password }) => <CodeBlock label="The password" text={password} />}
    </IssuedDialog>
  );
}
