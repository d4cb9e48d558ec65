import type { SchemaView as View, ViewColumn, ViewColumnType } from "../views/data-view.ts";
import { shown, wrong } from "./column-value.ts";
import { columnOf, type Filter } from "./conditions.ts";

export const MAX_PAGE_ROWS = 10_000;
export const DEFAULT_PAGE_ROWS = 1_000;
const MAX_FILTERS = 100;
const FILTER_PREFIX = "filter.";
/** A column with such a name is filtered by `filter.<name>`. */
const LIST_PARAMETERS = [
  "select",
  "order",
  "limit",
  "after",
  "group",
  "format",
  "spreadsheet",
] as const;

/** A column of the answer: one of the view, or an aggregate over a group. Its name is how the query writes it. */
export interface SelectedColumn {
  readonly name: string;
  readonly aggregate: Aggregate | null;
  readonly type: ViewColumnType;
  readonly nullable: boolean;
}

export interface Aggregate {
  readonly function: "sum" | "avg" | "min" | "max" | "count";
  /** The column's name; `*` counts rows. */
  readonly of: string;
}

export interface OrderedColumn extends SelectedColumn {
  readonly isDescending: boolean;
}

/** What `GET /v1/data/{name}` asks for, checked against the view. */
export interface ListQuery {
  readonly select: readonly SelectedColumn[];
  /** Null unless rows are grouped; empty to make all of them one group. */
  readonly group: readonly SelectedColumn[] | null;
  readonly order: readonly OrderedColumn[];
  readonly filters: readonly Filter[];
  readonly limit: number | null;
  readonly after: string | null;
  readonly format: "json" | "csv" | "ndjson" | null;
  readonly spreadsheet: boolean;
}

/** Reads the parameters of a list. Throws `invalid_value` that names the parameter. */
export function readListQuery(view: View, parameters: URLSearchParams): ListQuery {
  const given = new Map<string, string>();
  const filters: Filter[] = [];
  for (const [name, text] of parameters) {
    if (LIST_PARAMETERS.some((known) => known === name)) {
      if (given.has(name)) throw wrong(name, "it stands there twice");
      if (text !== "") given.set(name, text);
    } else {
      filters.push(filterOf(view, name, text));
    }
  }
  if (filters.length > MAX_FILTERS) {
    throw wrong(
      filters[MAX_FILTERS]?.param ?? "",
      `a list takes at most ${MAX_FILTERS} conditions`,
    );
  }
  const { select, group } = selectionOf(view, given.get("select"), given.get("group"));
  return {
    ...{ select, group, filters },
    order: orderOf(view, given.get("order"), group === null ? null : select),
    limit: limitOf(given.get("limit")),
    after: given.get("after") ?? null,
    format: formatOf(given.get("format")),
    spreadsheet: spreadsheetOf(given.get("spreadsheet")),
  };
}

function filterOf(view: View, param: string, text: string): Filter {
  const name = param.startsWith(FILTER_PREFIX) ? param.slice(FILTER_PREFIX.length) : param;
  return { param, column: columnOf(view, name, shown(param)), text };
}

function namesOf(text: string, param: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw wrong(param, `'${shown(twice)}' stands there twice`);
  return names;
}

function selectionOf(
  view: View,
  select: string | undefined,
  group: string | undefined,
): Pick<ListQuery, "select" | "group"> {
  const keys = group === undefined ? [] : namesOf(group, "group");
  const grouped = keys.map((name) => plain(columnOf(view, name, "group")));
  if (select === undefined) {
    return group === undefined
      ? { select: view.columns.map(plain), group: null }
      : { select: grouped, group: grouped };
  }
  const selected = namesOf(select, "select").map((name) => selectedOf(view, name));
  const isGrouped = group !== undefined || selected.some(({ aggregate }) => aggregate !== null);
  if (!isGrouped) return { select: selected, group: null };
  const loose = selected.find(({ aggregate, name }) => aggregate === null && !keys.includes(name));
  if (loose !== undefined) {
    throw wrong(
      "select",
      `'${loose.name}' must stand in group or within sum, avg, min, max or count`,
    );
  }
  return { select: selected, group: grouped };
}

function plain({ name, type, nullable }: ViewColumn): SelectedColumn {
  return { name, type, nullable, aggregate: null };
}

const AGGREGATE = /^(sum|avg|min|max|count)\((.*)\)$/;
const NUMBERS: ReadonlySet<ViewColumnType> = new Set([
  "integer",
  "bigint",
  "numeric",
  "double precision",
]);

function selectedOf(view: View, name: string): SelectedColumn {
  const [, called, of = ""] = AGGREGATE.exec(name) ?? [];
  if (called === undefined) return plain(columnOf(view, name, "select"));
  const aggregate = { function: called, of } as Aggregate;
  if (called === "count" && of === "*") return { name, aggregate, type: "bigint", nullable: false };
  const { type } = columnOf(view, of, "select");
  return { name, aggregate, type: typeOf(aggregate, type), nullable: called !== "count" };
}

function typeOf({ function: called, of }: Aggregate, type: ViewColumnType): ViewColumnType {
  if (called === "count") return "bigint";
  if (called === "min" || called === "max") {
    if (type !== "boolean" && type !== "jsonb") return type;
  } else if (NUMBERS.has(type)) {
    if (type === "double precision") return type;
    return called === "sum" && type === "integer" ? "bigint" : "numeric";
  }
  throw wrong("select", `${called}(${of}) cannot be: the column is ${type}`);
}

/** @param selected the columns of grouped rows; null where the view's own columns order. */
function orderOf(
  view: View,
  text: string | undefined,
  selected: readonly SelectedColumn[] | null,
): readonly OrderedColumn[] {
  if (text === undefined) return [];
  const entries = namesOf(text, "order").map((entry) => {
    const isDescending = entry.startsWith("-");
    const name = isDescending ? entry.slice(1) : entry;
    if (selected === null) return { ...plain(columnOf(view, name, "order")), isDescending };
    const found = selected.find((known) => known.name === name);
    if (found !== undefined) return { ...found, isDescending };
    throw wrong("order", `'${shown(name)}' is not in select; grouped rows have only its columns`);
  });
  namesOf(entries.map(({ name }) => name).join(","), "order");
  return entries;
}

function limitOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit === 0) throw wrong("limit", "it must be a whole number from 1 on");
  return limit;
}

function formatOf(text: string | undefined): ListQuery["format"] {
  if (text === undefined || text === "json" || text === "csv" || text === "ndjson") {
    return text ?? null;
  }
  throw wrong("format", "it must be json, csv or ndjson");
}

function spreadsheetOf(text: string | undefined): boolean {
  if (text === undefined || text === "0" || text === "1") return text === "1";
  throw wrong("spreadsheet", "it must be 0 or 1");
}
