import type { ReactNode } from "react";

interface PageHeaderProps {
  readonly title: string;
  /** How many there are, or a state. */
  readonly aside?: ReactNode;
  /** Buttons, the primary one first to read and last in sight. */
  readonly children?: ReactNode;
}

/** The head of a page. The shell moves the focus to its title when the page changes. */
export function PageHeader({ title, aside, children }: PageHeaderProps) {
  return (
    <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
      <h1 data-page-title tabIndex={-1} className="min-w-0 text-xl wrap-anywhere outline-none">
        {title}
      </h1>
      {aside !== undefined && <div className="text-muted">{aside}</div>}
      {children !== undefined && (
        <div className="ml-auto flex flex-wrap items-center gap-2">{children}</div>
      )}
    </header>
  );
}
