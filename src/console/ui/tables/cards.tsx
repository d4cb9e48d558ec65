import { classes } from "../classes.ts";
import type { VirtualRowsProps } from "./table-column.ts";

/** The rows of a table on a small screen. */
export function Cards<Row>(props: VirtualRowsProps<Row>) {
  const { virtual, rows, label } = props;
  return (
    <ul aria-label={label} className="relative" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, key, start }) => (
        <li
          key={key}
          ref={virtual.measureElement}
          data-index={index}
          className="absolute inset-x-0 top-0 pb-2"
          style={{ transform: `translateY(${start}px)` }}
        >
          <Card {...props} index={index} row={rows[index] as Row} />
        </li>
      ))}
    </ul>
  );
}

function Card<Row>(props: VirtualRowsProps<Row> & { readonly row: Row; readonly index: number }) {
  const { row, index, columns, rowId, onOpen, openId, actions, cursor } = props;
  const [first, ...rest] = columns.filter((column) => !column.isWideOnly);
  const id = rowId(row);
  return (
    <div
      className={classes(
        "grid gap-2 rounded-lg border border-line bg-surface p-3",
        id === openId && "border-accent",
      )}
    >
      <div className="flex items-center gap-2">
        {onOpen === undefined ? (
          <span className="min-w-0 flex-1 truncate font-medium">{first?.cell(row)}</span>
        ) : (
          <button
            type="button"
            data-open
            tabIndex={index === cursor.active ? 0 : -1}
            onFocus={() => cursor.setActive(index)}
            onClick={() => onOpen(id)}
            className="-my-2 min-h-(--control) min-w-0 flex-1 truncate text-start font-medium"
          >
            {first?.cell(row)}
          </button>
        )}
        {actions?.(row)}
      </div>
      <dl className="grid grid-cols-2 gap-x-4 gap-y-1">
        {rest.map((column) => (
          <div key={column.id} className="min-w-0">
            <dt className="text-sm text-muted">{column.head}</dt>
            <dd className="break-words">{column.cell(row)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
