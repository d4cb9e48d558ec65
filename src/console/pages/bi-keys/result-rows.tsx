import type { DataRows } from "../../api/queries/data-tables.ts";
import { countOf } from "../../lib/count.ts";
import { Time } from "../../ui/text/time.tsx";

/** The rows of an answer as they came, without paging. */
export function ResultRows({ result }: { readonly result: DataRows }) {
  const { columns, data, has_more: hasMore, as_of: asOf } = result;
  return (
    <div className="grid min-w-0 gap-2">
      <p role="status" className="text-sm text-muted">
        {data.length === 0 ? "No rows" : countOf(data.length, "row")}
        {hasMore && ", and there are more"} · as of <Time value={asOf} hasSeconds />
      </p>
      <section
        aria-label="The answer"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
        tabIndex={0}
        className="max-h-[32rem] overflow-auto rounded-lg border border-line bg-surface"
      >
        <table className="w-full border-collapse">
          <thead className="sticky top-0 bg-surface">
            <tr>
              {columns.map(({ name, type }) => (
                <th
                  key={name}
                  scope="col"
                  className="border-b border-line px-3 py-1 text-start text-sm font-medium whitespace-nowrap"
                >
                  {name} <span className="font-normal text-muted">{type}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data.map((row, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id, and an answer never changes
              <tr key={index} className="border-b border-line last:border-b-0">
                {columns.map(({ name }) => (
                  <td key={name} className="max-w-sm truncate px-3 py-1 whitespace-nowrap">
                    <Value value={row[name]} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

function Value({ value }: { readonly value: unknown }) {
  if (value === null || value === undefined) return <span className="text-muted">null</span>;
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return <span title={text}>{text}</span>;
}
