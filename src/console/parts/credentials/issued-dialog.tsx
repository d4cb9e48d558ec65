import type { ReactNode } from "react";
import { Button } from "../../ui/buttons/button.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";

interface IssuedDialogProps<Issued> {
  /** Undefined: closed. */
  readonly issued: Issued | undefined;
  readonly onClose: () => void;
  readonly title: (issued: Issued) => string;
  /** That it is shown this once, and what can be done with it. */
  readonly description: string;
  readonly isWide?: boolean;
  readonly children: (issued: Issued) => ReactNode;
}

/** Shows what the server tells only once, a secret or a password: only its own button closes it. */
export function IssuedDialog<Issued>(props: IssuedDialogProps<Issued>) {
  const { issued, onClose, title, description, isWide, children } = props;
  return (
    <Dialog
      isOpen={issued !== undefined}
      onClose={onClose}
      title={issued === undefined ? "" : title(issued)}
      description={description}
      isFirm
      {...(isWide && { isWide })}
    >
      {issued !== undefined && (
        <>
          {children(issued)}
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
