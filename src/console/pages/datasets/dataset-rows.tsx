import { useMemo } from "react";
import { type Dataset, type DatasetRow, useDatasetRows } from "../../api/queries/datasets.ts";
import { ListView } from "../../parts/list-view.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { PropertyList } from "../../ui/property-list.tsx";
import type { Column } from "../../ui/table-column.ts";
import { useUrlState } from "../../ui/use-url-state.ts";
import { Value } from "../../ui/value-table.tsx";

interface NumberedRow {
  readonly number: number;
  readonly values: DatasetRow;
}

const NUMBERS: ReadonlySet<string> = new Set(["integer", "decimal", "number"]);

const DEFAULTS = { row: "" };
/** Columns of a card; the open row shows all. */
const CARD_COLUMNS = 6;

/** The rows in their order, fetched as they come into sight. One is opened to see the whole of its values. */
export function DatasetRows({ dataset }: { readonly dataset: Dataset }) {
  const list = useDatasetRows(dataset);
  const [state, change] = useUrlState(DEFAULTS);
  const { rows } = list;
  const numbered = useMemo(
    () => rows.map((values, index): NumberedRow => ({ number: index + 1, values })),
    [rows],
  );
  const columns = useMemo(() => columnsOf(dataset), [dataset]);
  const open = numbered[Number(state.row) - 1];
  const close = () => change({ row: "" });
  return (
    <>
      <ListView
        label="Rows"
        list={{ ...list, rows: numbered, total: dataset.rows }}
        columns={columns}
        rowId={({ number }) => String(number)}
        onOpen={(row) => change({ row })}
        empty={
          <EmptyState title="No rows yet">
            Import a file, or let a workflow write into it with the step dataset_write.
          </EmptyState>
        }
      />
      <Dialog
        isOpen={open !== undefined}
        onClose={close}
        title={`Row ${Number(state.row).toLocaleString("en-GB")} of ${dataset.name}`}
        isWide
      >
        {open !== undefined && <WholeRow dataset={dataset} row={open} />}
      </Dialog>
    </>
  );
}

function WholeRow({ dataset, row }: { readonly dataset: Dataset; readonly row: NumberedRow }) {
  return (
    <div className="max-h-[70dvh] overflow-y-auto break-words whitespace-pre-wrap">
      <PropertyList
        properties={dataset.columns.map(
          ({ name }) => [name, <Value key={name} value={row.values[name]} />] as const,
        )}
      />
    </div>
  );
}

function columnsOf(dataset: Dataset): ReadonlyArray<Column<NumberedRow>> {
  return [
    {
      id: "#",
      head: "Row",
      cell: ({ number }) => <span className="text-muted">{number.toLocaleString("en-GB")}</span>,
      width: "5rem",
      isNumber: true,
    },
    ...dataset.columns.map(
      ({ name, type }, place): Column<NumberedRow> => ({
        id: name,
        head: name,
        cell: ({ values }) => <Value value={values[name]} />,
        width: "12rem",
        isNumber: NUMBERS.has(type),
        isWideOnly: place >= CARD_COLUMNS,
      }),
    ),
  ];
}
