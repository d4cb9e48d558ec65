import { useBlocker } from "@tanstack/react-router";
import { Button } from "../buttons/button.tsx";
import { Dialog } from "../overlays/dialog.tsx";

interface UnsavedGuardProps {
  readonly isUnsaved: boolean;
  /** What would be lost: "The changes of Handbook". */
  readonly what: string;
  /** Something is under way that goes on while other pages are shown, and ends with the tab. */
  readonly isUnderWay?: boolean;
}

/** Asks before a page with unsaved work is left; of a tab that is closed the browser asks. */
export function UnsavedGuard({ isUnsaved, what, isUnderWay = false }: UnsavedGuardProps) {
  const blocker = useBlocker({
    // Filters and tabs of the same page lose nothing.
    shouldBlockFn: ({ current, next }) => isUnsaved && current.pathname !== next.pathname,
    enableBeforeUnload: () => isUnsaved || isUnderWay,
    withResolver: true,
  });
  return (
    <LeaveDialog
      isOpen={blocker.status === "blocked"}
      what={what}
      onStay={() => blocker.reset?.()}
      onLeave={() => blocker.proceed?.()}
    />
  );
}

interface LeaveDialogProps extends Pick<UnsavedGuardProps, "what"> {
  readonly isOpen: boolean;
  readonly onStay: () => void;
  readonly onLeave: () => void;
}

/** The question itself, for what is left without another address. */
export function LeaveDialog({ isOpen, what, onStay, onLeave }: LeaveDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onStay} title="Leave without saving?">
      <p>{what} are lost.</p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onStay}>Stay here</Button>
        <Button look="danger" onClick={onLeave}>
          Leave
        </Button>
      </div>
    </Dialog>
  );
}
