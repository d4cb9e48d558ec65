import { Braces } from "lucide-react";
import { useState } from "react";
import { IconButton } from "../buttons/icon-button.tsx";
import { lazyPart } from "../status/lazy-part.tsx";
import { OnceOpen } from "./once-open.tsx";
import type { CallProps, ShownCallDialogProps } from "./shown-call-dialog.tsx";

// Every page has the button, and few people open what it shows.
const ShownCallDialog = lazyPart(
  async () => (await import("./shown-call-dialog.tsx")).ShownCallDialog,
);

/** "Show the call": what this view asks the gateway, to be typed in a terminal. */
export function CallButton({ call }: CallProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <IconButton icon={Braces} label="Show the call" look="plain" onClick={() => setOpen(true)} />
      <CallDialog call={call} isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}

/** The call itself, where another button opens it. */
export function CallDialog(props: ShownCallDialogProps) {
  return (
    <OnceOpen isOpen={props.isOpen}>
      <ShownCallDialog {...props} />
    </OnceOpen>
  );
}
