import type { Virtualizer } from "@tanstack/react-virtual";
import type { ReactNode } from "react";

/** A column of a table; on small screens a line of a card. The first column names the row. */
export interface Column<Row> {
  readonly id: string;
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers stand at the end of their column. */
  readonly isNumber?: boolean;
  /** The width in CSS, such as `8rem`; columns without one share the rest. */
  readonly width?: string;
  /** Left out of the cards of small screens. */
  readonly isWideOnly?: boolean;
  /** The value of `sort` that sorts by it, where the server can. A minus before it turns the order round. */
  readonly sort?: string;
}

export interface RowsProps<Row> {
  /** What it lists, for readers: "API keys". */
  readonly label: string;
  readonly columns: ReadonlyArray<Column<Row>>;
  readonly rows: readonly Row[];
  readonly rowId: (row: Row) => string;
  /** How many there are on all pages, where the server tells. */
  readonly total?: number | undefined;
  readonly openId?: string | undefined;
  /** Opens a row, as a click and Enter do. Without it rows only show. */
  readonly onOpen?: ((id: string) => void) | undefined;
  /** Actions of a row, at its end. */
  readonly actions?: ((row: Row) => ReactNode) | undefined;
  readonly sort?: string | undefined;
  readonly onSort?: ((sort: string) => void) | undefined;
  readonly hasMore?: boolean | undefined;
  readonly onMore?: (() => void) | undefined;
}

export interface VirtualRowsProps<Row> extends RowsProps<Row> {
  readonly virtual: Virtualizer<HTMLElement, Element>;
  readonly cursor: { readonly active: number; readonly setActive: (index: number) => void };
}
