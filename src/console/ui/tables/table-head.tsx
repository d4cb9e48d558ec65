import { ArrowDown, ArrowUp } from "lucide-react";
import { classes } from "../classes.ts";
import type { Column } from "./table-column.ts";

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

/** The head of a column, which sorts by it where the server can. */
export function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
  const { head, width, isNumber, sort: by } = column;
  const isUp = sort !== undefined && sort === by;
  const isDown = sort !== undefined && sort === `-${by}`;
  const order = isDown ? "descending" : "ascending";
  const Arrow = isDown ? ArrowDown : ArrowUp;
  return (
    <th
      scope="col"
      aria-sort={isUp || isDown ? order : undefined}
      style={{ width }}
      className={classes(
        "h-(--row) truncate border-b border-line px-3 text-sm font-medium text-muted",
        isNumber ? "text-end" : "text-start",
      )}
    >
      {by === undefined || onSort === undefined ? (
        head
      ) : (
        <button
          type="button"
          onClick={() => onSort(isDown ? by : `-${by}`)}
          className="inline-flex min-h-(--row) items-center gap-1 hover:text-text"
        >
          {head}
          {(isUp || isDown) && <Arrow size={12} aria-hidden />}
        </button>
      )}
    </th>
  );
}
