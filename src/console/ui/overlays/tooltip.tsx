import { Tooltip } from "@base-ui/react/tooltip";
import type { ReactElement } from "react";

interface TipProps {
  readonly text: string;
  /** What has focus and the pointer: a button or a link. */
  readonly children: ReactElement;
}

/** A short text on hover and focus. Nothing that is needed stands in it alone. */
export function Tip({ text, children }: TipProps) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} delay={400} />
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className="z-50">
          <Tooltip.Popup className="appear max-w-2xs rounded-md bg-text px-2 py-1 text-sm text-surface">
            {text}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
