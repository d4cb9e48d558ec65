import type { ReactNode } from "react";

interface PropertyListProps {
  /** Name and value; undefined values are left out. */
  readonly properties: ReadonlyArray<readonly [name: string, value: ReactNode]>;
}

/** What a thing has, by name. */
export function PropertyList({ properties }: PropertyListProps) {
  return (
    <dl className="grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-4 gap-y-2">
      {properties
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 break-words">{value}</dd>
          </div>
        ))}
    </dl>
  );
}
