import { Link as RouterLink } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import type { ReactNode } from "react";
import { classes } from "../classes.ts";

const LOOK = "text-accent underline decoration-1 underline-offset-2 hover:decoration-2";

interface LinkProps {
  /** A path of the console such as `/keys`, or a whole address, which opens in a new tab. */
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly children: ReactNode;
  readonly className?: string;
  /** It leads to what is shown now. */
  readonly isCurrent?: boolean;
  /** Called when it is chosen, before it leads anywhere. */
  readonly onChoose?: () => void;
}

/** A link within the console or out of it. */
export function Link({ to, search, children, className, isCurrent = false, onChoose }: LinkProps) {
  if (!to.startsWith("/")) {
    return (
      <a
        href={to}
        target="_blank"
        rel="noreferrer noopener"
        onClick={onChoose}
        className={className ?? LOOK}
      >
        {children}
        <ExternalLink size={12} className="ml-1 inline" aria-label="opens a new tab" />
      </a>
    );
  }
  return (
    <RouterLink
      to={to}
      search={{ ...search }}
      onClick={onChoose}
      className={classes(className ?? LOOK)}
      {...(isCurrent && { "aria-current": "page" })}
    >
      {children}
    </RouterLink>
  );
}
