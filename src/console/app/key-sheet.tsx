import { KeyHint } from "../ui/key-hint.tsx";
import { Dialog } from "../ui/overlays/dialog.tsx";
import { usePreferences } from "../ui/preferences.ts";
import { useKeyBindings } from "../ui/use-keys.ts";

interface KeySheetProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** All keys that do something now. */
export function KeySheet({ isOpen, onClose }: KeySheetProps) {
  const bindings = useKeyBindings();
  const { singleKeys } = usePreferences();
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Keys"
      description={
        singleKeys === "on"
          ? "Single keys do nothing while you type. They can be switched off under Your account."
          : "Single keys are switched off under Your account."
      }
    >
      <dl className="grid grid-cols-[1fr_auto] gap-x-6 gap-y-2">
        {bindings.map(({ keys, label }) => (
          <div key={keys} className="contents">
            <dt>{label}</dt>
            <dd>
              <KeyHint keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
