import type { LucideIcon } from "lucide-react";
import { SMALL, useMedia } from "../use-media.ts";
import { Button, type ButtonProps } from "./button.tsx";
import { IconButton } from "./icon-button.tsx";

interface CompactButtonProps extends Omit<ButtonProps, "children" | "isSquare" | "aria-label"> {
  readonly icon: LucideIcon;
  readonly label: string;
}

/** A button with a sign before its label; small screens, where a head has many, show the sign and name it. */
export function CompactButton({ icon: Icon, label, ...props }: CompactButtonProps) {
  if (useMedia(SMALL)) return <IconButton look="plain" {...props} icon={Icon} label={label} />;
  return (
    <Button {...props}>
      <Icon size={16} aria-hidden />
      {label}
    </Button>
  );
}
