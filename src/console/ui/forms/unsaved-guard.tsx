import { useBlocker } from "@tanstack/react-router";
import { Button } from "../buttons/button.tsx";
import { Dialog } from "../overlays/dialog.tsx";

interface UnsavedGuardProps {
  readonly isUnsaved: boolean;
  /** What would be lost: "The changes of Handbook". */
  readonly what: string;
}

/** Asks before a page with unsaved work is left; of a tab that is closed the browser asks. */
export function UnsavedGuard({ isUnsaved, what }: UnsavedGuardProps) {
  const blocker = useBlocker({
    // Filters and tabs of the same page lose nothing.
    shouldBlockFn: ({ current, next }) => isUnsaved && current.pathname !== next.pathname,
    enableBeforeUnload: () => isUnsaved,
    withResolver: true,
  });
  return (
    <Dialog
      isOpen={blocker.status === "blocked"}
      onClose={() => blocker.reset?.()}
      title="Leave without saving?"
    >
      <p>{what} are lost.</p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={() => blocker.reset?.()}>Stay here</Button>
        <Button look="danger" onClick={() => blocker.proceed?.()}>
          Leave
        </Button>
      </div>
    </Dialog>
  );
}
