import { Table } from "./table.tsx";
import type { Column } from "./table-column.ts";

interface ValueTableProps {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: ReadonlyArray<readonly unknown[]>;
}

interface NumberedRow {
  readonly number: number;
  readonly values: readonly unknown[];
}

/** Rows of values that somebody else's columns hold. */
export function ValueTable({ label, columns, rows }: ValueTableProps) {
  if (rows.length === 0) return null;
  const shown = columns.map(
    (head, place): Column<NumberedRow> => ({
      id: String(place),
      head,
      cell: ({ values }) => <Value value={values[place]} />,
      width: "12rem",
    }),
  );
  return (
    <Table
      label={label}
      columns={shown}
      rows={rows.map((values, number) => ({ number, values }))}
      rowId={({ number }) => String(number)}
    />
  );
}

/** A value of a table: the whole of it is in its title. */
export function Value({ value }: { readonly value: unknown }) {
  if (value === null || value === undefined) return <span className="text-muted italic">null</span>;
  if (typeof value === "string") return <bdi title={value}>{value}</bdi>;
  if (typeof value !== "object") return String(value);
  const text = JSON.stringify(value);
  return (
    <code className="font-mono text-sm" title={text}>
      {text}
    </code>
  );
}
