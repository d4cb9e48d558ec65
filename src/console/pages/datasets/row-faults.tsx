import { useEffect, useRef } from "react";
import { countOf, formatExact } from "../../lib/count.ts";

export interface RowFault {
  readonly line: number;
  readonly column: string | null;
  readonly message: string;
}

interface RowFaultsProps {
  readonly rows: readonly RowFault[];
  readonly end: string | null;
}

/** Each wrong row of a file: where it is and why. */
export function RowFaults({ rows, end }: RowFaultsProps) {
  const count = countOf(rows.length, "wrong row");
  const heading = useRef<HTMLHeadingElement>(null);
  // Once for each answer: while the rows are mended, the focus stays in their field.
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows are another answer
  useEffect(() => heading.current?.focus(), [rows]);
  return (
    <section aria-label={count} className="grid min-w-0 gap-2">
      <h3 ref={heading} tabIndex={-1} className="text-base text-bad">
        {count}
      </h3>
      <section
        aria-label="Where and why"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
        tabIndex={0}
        className="max-h-64 overflow-auto rounded-lg border border-line"
      >
        <table className="w-full border-collapse">
          <thead className="sticky top-0 bg-surface">
            <tr className="text-start text-sm text-muted">
              <th className="px-3 py-1 text-end font-medium">Line</th>
              <th className="px-3 py-1 text-start font-medium">Column</th>
              <th className="px-3 py-1 text-start font-medium">Reason</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ line, column, message }) => (
              <tr key={`${line} ${column}`} className="border-t border-line align-top">
                <td className="px-3 py-1 text-end">{formatExact(line)}</td>
                <td className="max-w-48 min-w-24 px-3 py-1 break-words">
                  <bdi>{column ?? "–"}</bdi>
                </td>
                <td className="px-3 py-1 break-words">
                  <bdi>{message}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {end !== null && <p className="text-muted">{end}</p>}
    </section>
  );
}
