import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { IconButton } from "../buttons/icon-button.tsx";
import { classes } from "../classes.ts";

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly isWide?: boolean;
  /** Only a button within it closes it: for what is shown once, and for logins. */
  readonly isFirm?: boolean;
  readonly children: ReactNode;
}

/** A dialog over the page; on small screens it is the whole screen. */
export function Dialog(props: DialogProps) {
  const { isOpen, onClose, title, description, isWide = false, isFirm = false, children } = props;
  const popup = useRef<HTMLDivElement>(null);
  return (
    <BaseDialog.Root
      open={isOpen}
      onOpenChange={(open) => !open && !isFirm && onClose()}
      disablePointerDismissal={isFirm}
    >
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="appear fixed inset-0 z-40 bg-shade" />
        <BaseDialog.Viewport className="fixed inset-0 z-40 grid overflow-y-auto sm:place-items-center sm:p-6">
          <BaseDialog.Popup
            ref={popup}
            initialFocus={(openedBy) => (openedBy === "touch" ? true : firstField(popup.current))}
            className={classes(
              "appear grid w-full content-start gap-4 bg-surface p-4 sm:rounded-lg sm:border sm:border-line sm:p-6",
              "sm:shadow-raised",
              isWide ? "sm:max-w-3xl" : "sm:max-w-lg",
            )}
          >
            <div className="flex items-start gap-4">
              <div className="grid flex-1 gap-1">
                <BaseDialog.Title className="text-lg">{title}</BaseDialog.Title>
                {description !== undefined && (
                  <BaseDialog.Description className="text-muted">
                    {description}
                  </BaseDialog.Description>
                )}
              </div>
              {!isFirm && <IconButton icon={X} label="Close" isPlain onClick={onClose} />}
            </div>
            {children}
          </BaseDialog.Popup>
        </BaseDialog.Viewport>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

/** A form begins in its first field, or in the one that says `data-first`, which by touch would open the keyboard over it; without one, the browser decides. */
function firstField(popup: HTMLElement | null): HTMLElement | true {
  const field =
    popup?.querySelector<HTMLElement>("form [data-first]") ??
    popup?.querySelector<HTMLElement>(
      "form :is(input:not([type=hidden], [hidden], [aria-hidden=true]), textarea)",
    );
  return field ?? true;
}
