import type { ReactNode } from "react";

export interface Bar {
  readonly id: string;
  readonly name: ReactNode;
  readonly value: number;
  /** The value as it is read, and what belongs to it. */
  readonly text: ReactNode;
}

/** A few things with a bar each, the largest first. */
export function BarList({
  bars,
  label,
}: {
  readonly bars: readonly Bar[];
  readonly label: string;
}) {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <ol aria-label={label} className="grid gap-2">
      {bars.map(({ id, name, value, text }) => (
        <li key={id} className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 gap-y-1">
          <span className="truncate">{name}</span>
          <span className="text-muted">{text}</span>
          <span aria-hidden className="col-span-2 block h-1 overflow-hidden rounded-full bg-line">
            <span
              className="block h-full rounded-full bg-accent"
              style={{ width: `${(value / most) * 100}%` }}
            />
          </span>
        </li>
      ))}
    </ol>
  );
}
