import { Tooltip } from "@base-ui/react/tooltip";
import type { ComponentProps, ReactNode } from "react";
import { classes } from "../classes.ts";

/* Under the pointer a colour moves away from its text, never towards it. */
const LOOKS = {
  primary:
    "bg-accent text-on-accent border-transparent hover:bg-[color-mix(in_oklab,var(--accent)_88%,var(--text))]",
  plain: "bg-surface text-text border-edge hover:bg-sunken",
  quiet: "bg-transparent text-text border-transparent hover:bg-sunken",
  danger:
    "bg-bad-soft text-bad border-bad hover:bg-[color-mix(in_oklab,var(--bad-soft)_50%,var(--surface))]",
} as const;

export interface ButtonProps extends Omit<ComponentProps<"button">, "disabled" | "className"> {
  /** One primary button a view. */
  readonly look?: keyof typeof LOOKS;
  /** What is being done; the button does nothing meanwhile. */
  readonly isBusy?: boolean;
  /** Why it cannot be done now. The button stays reachable and says so. */
  readonly disabledReason?: string | undefined;
  readonly isSquare?: boolean;
  readonly children: ReactNode;
}

/** A button. Its text is a verb with its object: "Issue key". */
export function Button({ disabledReason, ...props }: ButtonProps) {
  if (disabledReason === undefined) return <PlainButton {...props} />;
  const inactive = { "aria-disabled": true, onClick: prevent, onPointerDown: prevent } as const;
  return (
    <Tooltip.Root>
      <Tooltip.Trigger
        delay={100}
        closeOnClick={false}
        render={<PlainButton {...props} {...inactive} aria-description={disabledReason} />}
      />
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className="z-50">
          <Tooltip.Popup className="appear max-w-2xs rounded-md bg-text px-2 py-1 text-sm text-surface">
            {disabledReason}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}

function PlainButton({ look = "plain", isBusy = false, isSquare = false, ...props }: ButtonProps) {
  const inactive = isBusy ? ({ "aria-disabled": true, onClick: prevent } as const) : {};
  return (
    <button
      type="button"
      {...props}
      {...inactive}
      aria-busy={isBusy || undefined}
      className={classes(
        "inline-flex min-h-(--control) max-w-full shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium",
        "aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent",
        "aria-disabled:border-line aria-disabled:bg-sunken aria-disabled:text-muted",
        isSquare ? "min-w-(--control) px-1" : "px-3",
        LOOKS[look],
      )}
    />
  );
}

function prevent(event: { preventDefault: () => void; stopPropagation: () => void }): void {
  event.preventDefault();
  event.stopPropagation();
}
