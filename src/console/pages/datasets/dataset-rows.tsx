import { useMemo } from "react";
import {
  type Dataset,
  type DatasetRow,
  useDatasetRows,
  useFilteredRows,
} from "../../api/queries/datasets.ts";
import { formatExact } from "../../lib/count.ts";
import { isFiltered, type RowFilter, readConditions } from "../../lib/tables/row-filter.ts";
import { ListView } from "../../parts/list-view.tsx";
import { useOpenPart, useUrlState } from "../../ui/navigation/use-url-state.ts";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Value } from "../../ui/tables/value-table.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { RowFilters } from "./row-filters.tsx";

interface NumberedRow {
  readonly number: number;
  readonly values: DatasetRow;
}

const NUMBERS: ReadonlySet<string> = new Set(["integer", "decimal", "number"]);

export const ROW_DEFAULTS = { row: "", where: "", sort: "" };
/** Columns of a card; the open row shows all. */
const CARD_COLUMNS = 6;

/** The rows in their order, fetched as they come into sight. One is opened to see the whole of its values. */
export function DatasetRows({ dataset }: { readonly dataset: Dataset }) {
  const [state, change] = useUrlState(ROW_DEFAULTS);
  const openPart = useOpenPart(ROW_DEFAULTS, "row");
  const { where, sort } = state;
  const filter = useMemo(() => toRowFilter({ where, sort }), [where, sort]);
  const isNarrowed = isFiltered(filter);
  const all = useDatasetRows(dataset, !isNarrowed);
  const some = useFilteredRows(dataset, filter, isNarrowed);
  const list = isNarrowed ? some : { ...all, total: dataset.rows };
  const { rows } = list;
  const numbered = useMemo(
    () => rows.map((values, index): NumberedRow => ({ number: index + 1, values })),
    [rows],
  );
  const columns = useMemo(() => columnsOf(dataset), [dataset]);
  const open = numbered[Number(state.row) - 1];
  const close = () => openPart({ row: "" });
  return (
    <div className="grid gap-3">
      {dataset.rows > 0 && (
        <RowFilters
          dataset={dataset}
          filter={filter}
          asOf={isNarrowed && rows.length > 0 ? list.asOf : undefined}
          onChange={(next) => change({ ...next, row: "" })}
        />
      )}
      <ListView
        label="Rows"
        list={{ ...list, rows: numbered }}
        sort={sort}
        onSort={(next) => change({ sort: next, row: "" })}
        columns={columns}
        rowId={({ number }) => String(number)}
        onOpen={(row) => openPart({ row })}
        empty={isNarrowed ? <NoMatch /> : <NoRows />}
      />
      <Dialog
        isOpen={open !== undefined}
        onClose={close}
        title={`Row ${formatExact(Number(state.row))} of ${dataset.name}`}
        isWide
      >
        {open !== undefined && <WholeRow dataset={dataset} row={open} />}
      </Dialog>
    </div>
  );
}

/** What the address asks of the rows. */
export function toRowFilter({ where, sort }: Omit<typeof ROW_DEFAULTS, "row">): RowFilter {
  return { conditions: readConditions(where), sort };
}

function NoMatch() {
  return (
    <EmptyState title="No row meets the conditions">
      Others may be there: clear the filters to see them.
    </EmptyState>
  );
}

function NoRows() {
  return (
    <EmptyState title="No rows yet">
      Import a file, or let a workflow write into it with the step dataset_write.
    </EmptyState>
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
      cell: ({ number }) => <span className="text-muted">{formatExact(number)}</span>,
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
        ...(type !== "json" && { sort: name }),
        isWideOnly: place >= CARD_COLUMNS,
      }),
    ),
  ];
}
