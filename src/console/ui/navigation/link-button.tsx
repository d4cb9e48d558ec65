import type { ReactNode } from "react";
import { classes } from "../classes.ts";
import { Link } from "./link.tsx";

interface LinkButtonProps {
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly look?: "primary" | "plain";
  readonly children: ReactNode;
}

const LOOKS = {
  primary: "border-transparent bg-accent text-on-accent hover:opacity-90",
  plain: "border-edge bg-surface hover:bg-sunken",
} as const;

/** A link among buttons: it leads to another page, where a button would do something on this one. */
export function LinkButton({ look = "plain", ...link }: LinkButtonProps) {
  return (
    <Link
      {...link}
      className={classes(
        "inline-flex min-h-(--control) shrink-0 items-center gap-1.5 rounded-md border px-3 font-medium",
        LOOKS[look],
      )}
    />
  );
}
