import { Menu as Base } from "@base-ui/react/menu";
import type { LucideIcon } from "lucide-react";
import type { ReactElement, RefObject } from "react";
import { classes } from "../classes.ts";

export interface MenuItem {
  readonly label: string;
  readonly icon?: LucideIcon;
  readonly run: () => void;
  readonly isDanger?: boolean;
  /** Why it cannot be done now; it stays in the menu and says so. */
  readonly disabledReason?: string | undefined;
}

interface MenuProps {
  /** The button that opens it. */
  readonly trigger: ReactElement;
  readonly items: readonly MenuItem[];
  readonly triggerRef?: RefObject<HTMLButtonElement | null>;
}

/** Actions behind a button. */
export function Menu({ trigger, items, triggerRef }: MenuProps) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} ref={triggerRef} />
      <Base.Portal>
        <Base.Positioner className="z-50" sideOffset={4} align="end">
          <Base.Popup className="appear max-w-xs min-w-[11rem] rounded-lg border border-line bg-surface p-1 shadow-raised outline-none">
            {items.map((item) => (
              <Base.Item
                key={item.label}
                disabled={item.disabledReason !== undefined}
                onClick={item.run}
                className={classes(
                  "flex min-h-(--control) items-center gap-2 rounded-md px-2 py-1 outline-none",
                  "data-[highlighted]:bg-accent-soft data-[disabled]:text-muted",
                  item.isDanger && "text-bad",
                )}
              >
                {item.icon !== undefined && <item.icon size={16} aria-hidden />}
                <span>
                  {item.label}
                  {item.disabledReason !== undefined && (
                    <span className="block text-sm">{item.disabledReason}</span>
                  )}
                </span>
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
