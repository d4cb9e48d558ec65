import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import { Button } from "../buttons/button.tsx";
import { Dialog } from "../overlays/dialog.tsx";

/**
 * A component whose code is fetched when it is first drawn. Where the code is gone, as after an upgrade of the gateway,
 * a notice or something else stands in its place: the page around it, and what is typed there, stay.
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  instead: ComponentType<Props> = Gone,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => ({ default: await load().catch(() => instead) }));
}

/** A dialog is told of in a dialog, which is where people look for it. */
function Gone({ isOpen, onClose }: { readonly isOpen?: boolean; readonly onClose?: () => void }) {
  if (isOpen === undefined || onClose === undefined) return <Notice />;
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="This cannot be loaded">
      <Notice />
    </Dialog>
  );
}

function Notice() {
  return (
    <div role="alert" className="grid justify-items-start gap-3">
      <p>
        The gateway was updated since this tab was opened, or it does not answer. Copy what you have
        typed here, then reload to get the current version.
      </p>
      <Button onClick={() => window.location.reload()}>Reload</Button>
    </div>
  );
}
