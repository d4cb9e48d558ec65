import type { LucideIcon } from "lucide-react";
import { Tip } from "../overlays/tooltip.tsx";
import { Button, type ButtonProps } from "./button.tsx";

interface IconButtonProps extends Omit<ButtonProps, "children" | "isSquare" | "aria-label"> {
  readonly icon: LucideIcon;
  /** What it does; shown on hover and focus, and read. */
  readonly label: string;
  /** Leaves the label to readers: for signs that everybody knows, where Esc must not close a tooltip first. */
  readonly isPlain?: boolean;
}

/** A button that shows a sign only. */
export function IconButton({
  icon: Icon,
  label,
  look = "quiet",
  isPlain,
  ...props
}: IconButtonProps) {
  const button = (
    <Button {...props} look={look} isSquare aria-label={label}>
      <Icon size={16} aria-hidden />
    </Button>
  );
  if (isPlain || props.disabledReason !== undefined) return button;
  return <Tip text={label}>{button}</Tip>;
}
