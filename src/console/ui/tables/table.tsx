import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import {
  memo,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { classes } from "../classes.ts";
import { rootFontSize } from "../root-font-size.ts";
import { SMALL, useMedia } from "../use-media.ts";
import { Cards } from "./cards.tsx";
import type { Column, RowsProps, VirtualRowsProps } from "./table-column.ts";
import { Head } from "./table-head.tsx";
import { useRowCursor } from "./use-row-cursor.ts";

const OVERSCAN = 4;
/** Rows come and go in steps of so many, so that most frames of a scroll change nothing in the document. */
const STEP = 4;
const ROWS_AHEAD = 20;
/** A card of a name and two lines; cards are measured once they are there. */
const CARD_REM = 8.25;

/**
 * Rows of a list that the server pages: only those in sight are in the document, and the next page is fetched before
 * its rows are reached. Below 640 px they are cards.
 */
export function Table<Row>(props: RowsProps<Row>) {
  const isSmall = useMedia(SMALL);
  const isCoarse = useMedia("(pointer: coarse)");
  // Another list of its own, because what is known of the heights of one must not count for the other.
  const rows = isCoarse ? "tall rows" : "rows";
  return <List key={isSmall ? "cards" : rows} isSmall={isSmall} isCoarse={isCoarse} {...props} />;
}

interface ListProps<Row> extends RowsProps<Row> {
  readonly isSmall: boolean;
  /** A finger points, and needs taller rows. */
  readonly isCoarse: boolean;
}

function List<Row>({ isSmall, isCoarse, ...props }: ListProps<Row>) {
  const scroller = useRef<HTMLElement>(null);
  const { rows, rowId, openId, onOpen, hasMore, onMore } = props;
  const [em] = useState(rootFontSize);
  const rowHeight = (isCoarse ? 2.75 : 2.25) * em;
  // A new function would make the virtualizer measure all rows again.
  const getItemKey = useCallback((index: number) => rowId(rows[index] as Row), [rows, rowId]);
  const virtual = useVirtualizer<HTMLElement, Element>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isSmall ? CARD_REM * em : rowHeight),
    overscan: OVERSCAN,
    rangeExtractor: isSmall ? defaultRangeExtractor : inSteps,
    getItemKey,
  });
  const focusRow = (index: number) => {
    virtual.scrollToIndex(index);
    const focus = () => {
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"] [data-open]`)?.focus();
    };
    // A row out of sight is there after the next paint.
    requestAnimationFrame(() => requestAnimationFrame(focus));
  };
  const cursor = useRowCursor({ rows, rowId, openId, onOpen, focusRow });
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

/** The rows in sight and those around them, in whole steps. */
function inSteps({ startIndex, endIndex, overscan, count }: Range): number[] {
  const first = Math.max(0, Math.floor((startIndex - overscan) / STEP) * STEP);
  const end = Math.min(count, Math.ceil((endIndex + 1 + overscan) / STEP) * STEP);
  return Array.from({ length: end - first }, (_, place) => first + place);
}

function Rows<Row>(props: VirtualRowsProps<Row>) {
  const { columns, rows, virtual, label, total, actions, rowId, openId, onOpen, cursor } = props;
  const items = virtual.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const open = useSteady((index: number) => {
    cursor.setActive(index);
    onOpen?.(rowId(rows[index] as Row));
  });
  return (
    <table
      aria-label={label}
      aria-rowcount={(total ?? rows.length) + 1}
      className="w-full table-fixed border-separate border-spacing-0"
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
        {items.map(({ index, key }) => {
          const row = rows[index] as Row;
          return (
            <RowOf
              key={key}
              {...{ index, row, columns, actions }}
              onOpen={onOpen && open}
              onActive={cursor.setActive}
              isOpen={openId === rowId(row)}
              isActive={cursor.active === index}
            />
          );
        })}
        {after > 0 && <Space height={after} />}
      </tbody>
    </table>
  );
}

/** Below it the table scrolls sideways in its place: columns without a width would lose all of theirs. */
function leastWidth(columns: ReadonlyArray<{ readonly width?: string }>): string {
  return `calc(${columns.map(({ width }) => width ?? "10rem").join(" + ")})`;
}

interface RowProps<Row> {
  readonly row: Row;
  readonly index: number;
  readonly columns: ReadonlyArray<Column<Row>>;
  readonly actions: ((row: Row) => ReactNode) | undefined;
  readonly onOpen: ((index: number) => void) | undefined;
  readonly onActive: (index: number) => void;
  readonly isOpen: boolean;
  /** It is the one that Tab reaches. */
  readonly isActive: boolean;
}

/** A row that stays is not drawn again while others come and go. */
const RowOf = memo(function RowOf<Row>(props: RowProps<Row>) {
  const { row, index, columns, actions, onOpen, onActive, isOpen, isActive } = props;
  return (
    <tr
      data-index={index}
      aria-rowindex={index + 2}
      onClick={(event) => {
        if ((event.target as Element).closest("a, button, input") === null) onOpen?.(index);
      }}
      className={classes(
        // One line of a background is painted faster than a border of each cell.
        "h-(--row) bg-[linear-gradient(var(--color-line),var(--color-line))] bg-[length:100%_1px] bg-bottom bg-no-repeat last:bg-none",
        onOpen && "cursor-pointer",
        isOpen && "bg-accent-soft",
        onOpen && !isOpen && "hover:bg-sunken",
      )}
    >
      {columns.map((column, place) => (
        <td key={column.id} className={classes("truncate px-3", column.isNumber && "text-end")}>
          {place === 0 && onOpen !== undefined ? (
            <button
              type="button"
              data-open
              aria-expanded={isOpen}
              tabIndex={isActive ? 0 : -1}
              onFocus={() => onActive(index)}
              onClick={() => onOpen(index)}
              className="-mx-1 max-w-full truncate rounded-sm px-1 text-start font-medium outline-offset-[-2px]"
            >
              {column.cell(row)}
            </button>
          ) : (
            column.cell(row)
          )}
        </td>
      ))}
      {actions !== undefined && <td className="px-1 text-end">{actions(row)}</td>}
    </tr>
  );
}) as <Row>(props: RowProps<Row>) => ReactNode;

/** A function that stays the same while what it does changes, so that nothing is drawn again for its sake. */
function useSteady<Given>(work: (given: Given) => void): (given: Given) => void {
  const latest = useRef(work);
  useLayoutEffect(() => {
    latest.current = work;
  });
  const [steady] = useState(() => (given: Given) => latest.current(given));
  return steady;
}

function Space({ height }: { readonly height: number }) {
  return (
    <tr aria-hidden>
      <td style={{ height }} className="p-0" />
    </tr>
  );
}
