import type { SchemaView as View, ViewColumn } from "../views/data-view.ts";
import { columnValue, shown, wrong } from "./column-value.ts";
import { quoted, type StatementValues } from "./statement-text.ts";

const MAX_ITEMS = 500;
const COMPARISONS: Readonly<Record<string, string>> = {
  eq: "=",
  ne: "<>",
  lt: "<",
  lte: "<=",
  gt: ">",
  gte: ">=",
};
const MATCHES: Readonly<Record<string, string>> = { like: "like", ilike: "ilike" };
const STATES: Readonly<Record<string, string>> = {
  null: "is null",
  "not.null": "is not null",
  true: "is true",
  false: "is false",
};
const HOW =
  "write it as operator and value, such as eq.3, ne.a, lt.5, lte.5, gt.5, gte.2026-01-01, in.(1,2), like.a%, ilike.A%, " +
  "is.null, is.not.null, is.true or is.false";

/** A filter as a query has it: `day=gte.2026-01-01`. */
export interface Filter {
  /** The name of the parameter, for errors. */
  readonly param: string;
  readonly column: ViewColumn;
  /** With its operator. */
  readonly text: string;
}

/** Finds a column by the name that a parameter gives. Throws `invalid_value`. */
export function columnOf({ name: view, columns }: View, name: string, param: string): ViewColumn {
  const column = columns.find((known) => known.name === name);
  if (column !== undefined) return column;
  const names = columns.map((known) => known.name).join(", ");
  throw wrong(param, `${view} has no column '${shown(name)}'; its columns are ${names}`);
}

/** Returns the SQL of a filter; its values are added to those of the statement. Throws `invalid_value`. */
export function conditionOf({ param, column, text }: Filter, values: StatementValues): string {
  const [, operator = "", value = ""] = /^([a-z]+)\.(.*)$/s.exec(text) ?? [];
  const name = quoted(column.name);
  const add = (given: string) => values.add(columnValue(given, column, param), column.type);
  if (Object.hasOwn(COMPARISONS, operator)) return `${name} ${COMPARISONS[operator]} ${add(value)}`;
  if (Object.hasOwn(MATCHES, operator)) {
    if (column.type !== "text") {
      throw wrong(param, `${operator} compares texts, and the column is ${column.type}`);
    }
    if (/(?<!\\)(?:\\\\)*\\$/.test(value)) throw wrong(param, "a pattern cannot end with one \\");
    return `${name} ${MATCHES[operator]} ${add(value)}`;
  }
  if (operator === "in") return `${name} in (${itemsOf(value, param).map(add).join(", ")})`;
  if (operator === "is" && Object.hasOwn(STATES, value)) {
    if (!value.endsWith("null") && column.type !== "boolean") {
      throw wrong(param, `is.${value} is for boolean columns, and the column is ${column.type}`);
    }
    return `${name} ${STATES[value]}`;
  }
  throw wrong(param, `'${shown(text)}' is no condition; ${HOW}`);
}

/** An item of a list: in quotation marks, where `\` stands before a mark or itself, or without and up to the comma. */
const ITEM = /(?:"((?:[^"\\]|\\["\\])*)"|([^",()]*))(,|$)/y;

/** Reads `(a,b,"c,d")`. */
function itemsOf(text: string, param: string): readonly string[] {
  const inner = /^\((.+)\)$/s.exec(text)?.[1];
  if (inner === undefined) throw wrong(param, 'in takes a list in parentheses: in.(a,b,"c,d")');
  const items: string[] = [];
  ITEM.lastIndex = 0;
  for (let isLast = false; !isLast; ) {
    const [, marked, plain = "", end] = ITEM.exec(inner) ?? [];
    if (end === undefined) {
      throw wrong(param, 'an item with one of , ( ) " needs quotation marks: in.(a,"c,d")');
    }
    items.push(marked?.replaceAll(/\\(["\\])/g, "$1") ?? plain);
    isLast = end === "";
  }
  if (items.length > MAX_ITEMS) throw wrong(param, `in takes at most ${MAX_ITEMS} items`);
  return items;
}
