import type { SchemaView as View } from "../views/data-view.ts";
import { wrong } from "./column-value.ts";
import { conditionOf } from "./conditions.ts";
import type { Aggregate, ListQuery, OrderedColumn, SelectedColumn } from "./list-query.ts";
import { type PagePlace, placeKey, readPlace } from "./page-place.ts";
import { quoted, StatementValues } from "./statement-text.ts";

export interface ListStatement {
  readonly sql: string;
  readonly values: readonly string[];
  /** Of the columns as they are shown: the statement has short ones for aggregates. */
  readonly names: readonly string[];
  /** Null for a list that is not paged: rows come in any order unless one was asked for. */
  readonly paging: { readonly columns: number; readonly key: string } | null;
}

/**
 * Of a dataset without a key a page is ordered by the digest of the whole row, and equal rows are numbered. It cannot
 * matter which of two equal rows a page has.
 */
const DIGEST: OrderedColumn = hidden("_digest", "text");
const COPY: OrderedColumn = hidden("_copy", "bigint");

function hidden(name: string, type: SelectedColumn["type"]): OrderedColumn {
  return { name, type, aggregate: null, nullable: false, isDescending: false };
}

/**
 * Builds the statement of a list. Names are those of the view's columns, and all values are parameters.
 *
 * @param page rows of a page, for a list that is paged; one more is asked for. Null for a list that is streamed, which
 * `limit` bounds.
 * @param secret see `placeKey`.
 */
export function listStatement(
  view: View,
  query: ListQuery,
  { page, secret }: { readonly page: number | null; readonly secret: Buffer },
): ListStatement {
  const values = new StatementValues();
  const isPaged = page !== null || query.after !== null;
  const asked = isPaged ? completedOrder(view, query) : query.order;
  const key = isPaged ? placeKey(secret, boundTo(view, query, asked)) : "";
  const withShortName = shortNames(query.select);
  const [select, order] = [query.select.map(withShortName), asked.map(withShortName)];
  const from = sourceOf(view, { ...query, select }, values, asked.includes(DIGEST));
  const place = query.after === null ? undefined : readPlace(query.after, key);
  if (query.after !== null && place?.length !== order.length) throw foreignPlace();
  const shown = select.map(({ name }) => quoted(name));
  const places =
    page === null ? [] : order.map(({ name }, index) => `${quoted(name)}::text as "_${index}"`);
  const clauses = [
    `select ${[...shown, ...places].join(", ")} from ${from}`,
    ...(place === undefined ? [] : [`where ${afterPlace(order, place, values)}`]),
    ...(order.length === 0 ? [] : [`order by ${order.map(orderTerm).join(", ")}`]),
    ...limitOf(page, query.limit),
  ];
  const paging = page === null ? null : { columns: order.length, key };
  const names = query.select.map(({ name }) => name);
  return { sql: clauses.join(" "), values: values.all, names, paging };
}

/**
 * Returns what gives aggregates the names that the statement has for them: a query's own, such as `sum(…)`, can be longer
 * than a name of the database. No column of a view begins with `_`.
 */
function shortNames(select: readonly SelectedColumn[]) {
  const names = new Map(select.map(({ name }, index) => [name, `_a${index}`]));
  return <Column extends SelectedColumn>(column: Column): Column =>
    column.aggregate === null ? column : { ...column, name: names.get(column.name) ?? column.name };
}

function limitOf(page: number | null, limit: number | null): readonly string[] {
  if (page !== null) return [`limit ${page + 1}`];
  return limit === null ? [] : [`limit ${limit}`];
}

function foreignPlace() {
  return wrong(
    "after",
    "it is not `next` of a page of this list; keep its parameters, or read from the first page",
  );
}

/** Adds what identifies a row, so that each row has one place. */
function completedOrder(view: View, query: ListQuery): readonly OrderedColumn[] {
  const columns = view.columns.map((column) => ({ ...column, aggregate: null }));
  const keyed = columns.filter(({ name }) => view.key.includes(name));
  const identity: readonly SelectedColumn[] = query.group ?? keyed;
  const rest = identity
    .filter(({ name }) => !query.order.some((ordered) => ordered.name === name))
    .map((column) => ({ ...column, isDescending: isDescending(query.order) }));
  const isKeyless = query.group === null && view.key.length === 0;
  return [...query.order, ...rest, ...(isKeyless ? [DIGEST, COPY] : [])];
}

/** One direction for all columns lets an index of the database serve the whole order. */
function isDescending(order: readonly OrderedColumn[]): boolean {
  return order.length > 0 && order.every((column) => column.isDescending);
}

/** What a place belongs to. The digest of a row changes with the columns of its view. */
function boundTo(view: View, query: ListQuery, order: readonly OrderedColumn[]) {
  const filters = query.filters.map(({ column, text }) => [column.name, text]);
  const names = query.group?.map(({ name }) => name) ?? null;
  const columns = order.includes(DIGEST) ? view.columns.map(({ name }) => name) : [];
  return [view.name, filters, names, order.map((c) => [c.name, c.isDescending]), columns];
}

function sourceOf(
  view: View,
  { filters, group, select }: ListQuery,
  values: StatementValues,
  isDigested: boolean,
): string {
  const table = `data.${quoted(view.name)}`;
  const conditions = filters.map((filter) => conditionOf(filter, values));
  const where = conditions.length === 0 ? "" : ` where ${conditions.join(" and ")}`;
  if (isDigested) {
    const digest = `pg_catalog.md5("_whole"::text) collate "C"`;
    const copy = `pg_catalog.row_number() over (partition by ${digest})`;
    return `(select *, ${digest} as "_digest", ${copy} as "_copy" from ${table} as "_whole"${where}) as "rows"`;
  }
  if (group === null)
    return where === "" ? `${table} as "rows"` : `(select * from ${table}${where}) as "rows"`;
  const keys = group.map(({ name }) => quoted(name));
  const aggregates = select.flatMap(({ name, aggregate }) =>
    aggregate === null ? [] : [`${aggregateOf(aggregate)} as ${quoted(name)}`],
  );
  // Without an aggregate the groups are the distinct rows; without a column all rows are one group.
  const grouping = keys.length === 0 ? "" : ` group by ${keys.join(", ")}`;
  const columns = [...keys, ...aggregates].join(", ");
  return `(select ${columns} from ${table}${where}${grouping}) as "rows"`;
}

function aggregateOf({ function: called, of }: Aggregate): string {
  return `pg_catalog.${called}(${of === "*" ? "*" : quoted(of)})`;
}

/** Nulls come last, or first where the order is descending: PostgreSQL's own order, which its indexes have. */
function orderTerm({ name, isDescending: isDown }: OrderedColumn): string {
  const column = `"rows".${quoted(name)}`;
  return isDown ? `${column} desc` : column;
}

/** Returns the condition of the rows behind a place. */
function afterPlace(
  order: readonly OrderedColumn[],
  place: PagePlace,
  values: StatementValues,
): string {
  const [first] = order;
  const isUniform = order.every(
    ({ nullable, isDescending: isDown }) => !nullable && isDown === first?.isDescending,
  );
  if (isUniform) {
    const names = order.map(({ name }) => quoted(name)).join(", ");
    const texts = order.map(({ type }, index) => values.add(place[index] ?? "", type));
    return `(${names}) ${first?.isDescending ? "<" : ">"} (${texts.join(", ")})`;
  }
  const behind = behindColumns(order, place, values);
  if (first === undefined || first.nullable) return behind;
  // The alternatives below use no index, and each page would read all rows before it.
  const bound = values.add(place[0] ?? "", first.type);
  return `${quoted(first.name)} ${first.isDescending ? "<=" : ">="} ${bound} and ${behind}`;
}

function behindColumns(
  order: readonly OrderedColumn[],
  place: PagePlace,
  values: StatementValues,
): string {
  return order.reduceRight((rest, column, index) => {
    const value = place[index] ?? null;
    const text = value === null ? null : values.add(value, column.type);
    const behind = behindValue(column, text);
    if (rest === "") return behind;
    const name = quoted(column.name);
    const same = text === null ? `${name} is null` : `${name} = ${text}`;
    return `(${behind} or (${same} and ${rest}))`;
  }, "");
}

function behindValue(
  { name: column, nullable, isDescending: isDown }: OrderedColumn,
  text: string | null,
): string {
  const name = quoted(column);
  if (text === null) return isDown ? `${name} is not null` : "false";
  if (isDown) return `${name} < ${text}`;
  return nullable ? `(${name} > ${text} or ${name} is null)` : `${name} > ${text}`;
}
