import type { Series } from "./chart-drawing.ts";

interface ChartTableProps {
  readonly label: string;
  readonly points: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

/** The figures of a chart as a table, the latest first. */
export function ChartTable({ label, points, series, format }: ChartTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
    <section aria-label={label} tabIndex={0} className="max-h-[20rem] overflow-auto">
      <table className="w-full border-collapse">
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr className="border-b border-line text-sm text-muted">
            <th scope="col" className="px-3 py-1 text-start font-medium">
              When
            </th>
            {series.map(({ name }) => (
              <th key={name} scope="col" className="px-3 py-1 text-end font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points
            .map((point, index) => (
              <tr key={point} className="border-b border-line">
                <th scope="row" className="px-3 py-1 text-start font-normal">
                  {point}
                </th>
                {series.map(({ name, values }) => (
                  <td key={name} className="px-3 py-1 text-end">
                    {format(values[index] ?? 0)}
                  </td>
                ))}
              </tr>
            ))
            .toReversed()}
        </tbody>
      </table>
    </section>
  );
}
