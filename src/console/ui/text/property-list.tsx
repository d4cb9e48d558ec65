import type { ReactNode } from "react";

interface PropertyListProps {
  /** Name and value; undefined values are left out. */
  readonly properties: ReadonlyArray<readonly [name: string, value: ReactNode]>;
}

/** What a thing has, by name; where there is no room beside the name, the value stands below it. */
export function PropertyList({ properties }: PropertyListProps) {
  return (
    <div className="@container">
      <dl className="grid gap-x-4 gap-y-2 @2xs:grid-cols-[minmax(7rem,auto)_1fr]">
        {properties
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <div key={name} className="@2xs:contents">
              <dt className="text-muted">{name}</dt>
              <dd className="min-w-0 break-words">{value}</dd>
            </div>
          ))}
      </dl>
    </div>
  );
}
