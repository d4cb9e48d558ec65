import { Popover as Base } from "@base-ui/react/popover";
import type { ReactElement, ReactNode } from "react";

interface PopoverProps {
  readonly trigger: ReactElement;
  readonly title: string;
  readonly children: ReactNode;
}

/** More about a thing, beside it, on a click. */
export function Popover({ trigger, title, children }: PopoverProps) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className="z-50" sideOffset={6}>
          <Base.Popup className="appear grid max-w-xs gap-2 rounded-lg border border-line bg-surface p-3 shadow-raised">
            <Base.Title className="text-base">{title}</Base.Title>
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
