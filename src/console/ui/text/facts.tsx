import type { ReactNode } from "react";

/** A few figures side by side, each with its name above it. */
export function Facts({ children }: { readonly children: ReactNode }) {
  return <dl className="flex flex-wrap gap-x-8 gap-y-2">{children}</dl>;
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="grid min-w-0 max-w-md content-start gap-0.5">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  );
}
