import type { ReactNode } from "react";

interface EmptyStateProps {
  readonly title: string;
  /** What this is and why nothing is there. */
  readonly children: ReactNode;
  /** One button, and one link at most. */
  readonly action?: ReactNode;
}

/** What a view says when it has nothing to show. */
export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div className="grid justify-items-center gap-2 rounded-lg border border-dashed border-line px-4 py-12 text-center">
      <h2 className="text-lg">{title}</h2>
      <div className="max-w-prose min-w-0 text-muted wrap-anywhere">{children}</div>
      {action !== undefined && (
        <div className="flex flex-wrap items-center justify-center gap-4 pt-2">{action}</div>
      )}
    </div>
  );
}
