import { Dialog } from "@base-ui/react/dialog";
import type { ReactNode } from "react";

interface DrawerProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** The bar over the page, on screens too narrow for both. */
export function Drawer({ isOpen, onClose, children }: DrawerProps) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="appear fixed inset-0 z-30 bg-shade" />
        <Dialog.Popup
          aria-label="Navigation"
          className="appear fixed inset-y-0 start-0 z-30 w-2xs max-w-[85vw] bg-surface shadow-raised"
        >
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
