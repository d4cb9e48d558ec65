import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Cards } from "./cards.tsx";
import { classes } from "./classes.ts";
import { rootFontSize } from "./root-font-size.ts";
import type { Column, RowsProps, VirtualRowsProps } from "./table-column.ts";
import { SMALL, useMedia } from "./use-media.ts";
import { useRowCursor } from "./use-row-cursor.ts";

const OVERSCAN = 12;
const ROWS_AHEAD = 20;
/** A card of a name and two lines; cards are measured once they are there. */
const CARD_REM = 8.25;

/**
 * Rows of a list that the server pages: only those in sight are in the document, and the next page is fetched before
 * its rows are reached. Below 640 px they are cards.
 */
export function Table<Row>(props: RowsProps<Row>) {
  const isSmall = useMedia(SMALL);
  // Another list of its own, because what is still measured of a card must not become a row's height.
  return <List key={isSmall ? "cards" : "rows"} isSmall={isSmall} {...props} />;
}

function List<Row>({ isSmall, ...props }: RowsProps<Row> & { readonly isSmall: boolean }) {
  const isCoarse = useMedia("(pointer: coarse)");
  const scroller = useRef<HTMLElement>(null);
  const { rows, rowId, openId, onOpen, hasMore, onMore } = props;
  const [em] = useState(rootFontSize);
  const rowHeight = (isCoarse ? 2.75 : 2.25) * em;
  const virtual = useVirtualizer<HTMLElement, Element>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isSmall ? CARD_REM * em : rowHeight),
    overscan: OVERSCAN,
    getItemKey: (index) => rowId(rows[index] as Row),
  });
  const focusRow = (index: number) => {
    virtual.scrollToIndex(index);
    const focus = () => {
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"] [data-open]`)?.focus();
    };
    // A row out of sight is there after the next paint.
    requestAnimationFrame(() => requestAnimationFrame(focus));
  };
  const cursor = useRowCursor({ ids: rows.map(rowId), openId, onOpen, focusRow });
  const last = virtual.getVirtualItems().at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= rows.length - ROWS_AHEAD) onMore?.();
  }, [hasMore, last, rows.length, onMore]);
  const shared = { ...props, virtual, cursor };
  return (
    <section
      ref={scroller}
      data-rows
      aria-label={props.label}
      tabIndex={onOpen === undefined ? 0 : undefined}
      className={classes(
        "max-h-[max(20rem,calc(100dvh-12rem))] min-w-0 overflow-auto overscroll-contain",
        !isSmall && "rounded-lg border border-line bg-surface",
      )}
    >
      {isSmall ? <Cards {...shared} /> : <Rows {...shared} />}
    </section>
  );
}

function Rows<Row>(props: VirtualRowsProps<Row>) {
  const { columns, rows, virtual, label, total, actions } = props;
  const items = virtual.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <table
      aria-label={label}
      aria-rowcount={(total ?? rows.length) + 1}
      className="w-full table-fixed border-collapse"
      style={{ minWidth: leastWidth(columns) }}
    >
      <thead className="sticky top-0 z-10 bg-surface">
        <tr aria-rowindex={1}>
          {columns.map((column) => (
            <Head key={column.id} column={column} sort={props.sort} onSort={props.onSort} />
          ))}
          {actions !== undefined && (
            <th className="w-12 border-b border-line">
              <span className="sr-only">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {before > 0 && <Space height={before} />}
        {items.map(({ index, key }) => (
          <RowOf key={key} {...props} index={index} row={rows[index] as Row} />
        ))}
        {after > 0 && <Space height={after} />}
      </tbody>
    </table>
  );
}

/** Below it the table scrolls sideways in its place: columns without a width would lose all of theirs. */
function leastWidth(columns: ReadonlyArray<{ readonly width?: string }>): string {
  return `calc(${columns.map(({ width }) => width ?? "10rem").join(" + ")})`;
}

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
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

function RowOf<Row>(props: VirtualRowsProps<Row> & { readonly row: Row; readonly index: number }) {
  const { row, index, columns, rowId, openId, onOpen, actions, cursor } = props;
  const id = rowId(row);
  const isOpen = id === openId;
  return (
    <tr
      data-index={index}
      aria-rowindex={index + 2}
      onClick={(event) => {
        if ((event.target as Element).closest("a, button, input") !== null) return;
        cursor.setActive(index);
        onOpen?.(id);
      }}
      className={classes(
        "h-(--row) border-b border-line last:border-b-0",
        onOpen && "cursor-pointer",
        isOpen && "bg-accent-soft",
        onOpen && !isOpen && "hover:bg-sunken",
      )}
    >
      {columns.map((column, place) => {
        const content = column.cell(row);
        return (
          <td key={column.id} className={classes("truncate px-3", column.isNumber && "text-end")}>
            {place === 0 && onOpen !== undefined ? (
              <button
                type="button"
                data-open
                aria-expanded={isOpen}
                tabIndex={index === cursor.active ? 0 : -1}
                onFocus={() => cursor.setActive(index)}
                onClick={() => onOpen(id)}
                className="-mx-1 max-w-full truncate rounded-sm px-1 text-start font-medium outline-offset-[-2px]"
              >
                {content}
              </button>
            ) : (
              content
            )}
          </td>
        );
      })}
      {actions !== undefined && <td className="px-1 text-end">{actions(row)}</td>}
    </tr>
  );
}

function Space({ height }: { readonly height: number }) {
  return (
    <tr aria-hidden>
      <td style={{ height }} className="p-0" />
    </tr>
  );
}
