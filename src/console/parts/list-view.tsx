import type { ReactNode } from "react";
import type { ListState } from "../api/use-list.ts";
import { ErrorCard } from "../ui/status/error-card.tsx";
import { Skeleton } from "../ui/status/skeleton.tsx";
import { Table } from "../ui/tables/table.tsx";
import type { RowsProps } from "../ui/tables/table-column.ts";
import { Time } from "../ui/text/time.tsx";

type Rows<Row> = Omit<RowsProps<Row>, "rows" | "total" | "hasMore" | "onMore">;

interface ListViewProps<Row> extends Rows<Row> {
  readonly list: ListState<Row>;
  /** What is shown where there is nothing, with and without filters. */
  readonly empty: ReactNode;
}

/** Beside an open panel it takes the room that is left. */
const WHOLE = "min-w-0 flex-1";

/** A list in each of its states: loading, failed, empty, and its rows, which stay while a refresh fails. */
export function ListView<Row>({ list, empty, ...rows }: ListViewProps<Row>) {
  const { error, isLoading, retry, asOf, searchedFrom } = list;
  if (isLoading) {
    return (
      <div className={WHOLE}>
        <Skeleton shape="rows" label={`${rows.label} are loading`} />
      </div>
    );
  }
  const what = `${rows.label} could not be loaded`;
  if (list.rows.length === 0 && error !== null) {
    return (
      <div className={WHOLE}>
        <ErrorCard what={what} error={error} onRetry={retry} />
      </div>
    );
  }
  if (list.rows.length === 0 && !list.hasMore) return <div className={WHOLE}>{empty}</div>;
  return (
    <div className="flex min-w-0 flex-1 flex-col gap-2">
      {error !== null && (
        <>
          <ErrorCard what={what} error={error} onRetry={retry} />
          <p className="text-sm text-muted">
            As of <Time value={asOf} />
          </p>
        </>
      )}
      {searchedFrom !== undefined && (
        <p role="status" className="text-sm text-muted">
          Searched back to <Time value={searchedFrom} />, and going on…
        </p>
      )}
      <Table
        {...rows}
        rows={list.rows}
        total={list.total}
        hasMore={list.hasMore}
        onMore={list.more}
      />
    </div>
  );
}
