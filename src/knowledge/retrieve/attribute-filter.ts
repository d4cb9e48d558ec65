import { type SQL, sql } from "drizzle-orm";
import type { AttributeFilter } from "../../core/file-search.ts";
import type { FileAttributes } from "../../db/tables/knowledge.ts";

type Comparison = Exclude<AttributeFilter, { filters: unknown }>;
type Value = string | number | boolean;

/** Values that the index is asked for one by one. */
const CONTAINED_MAX = 20;
const OPERATORS = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/**
 * Whether a file with these attributes passes the filter; all files pass where there is none. Values of different types
 * are never equal and have no order; texts are ordered by their code points. An attribute that a file lacks passes `ne`
 * and `nin` only.
 */
export function passesFilter(
  attributes: FileAttributes,
  filter: AttributeFilter | undefined,
): boolean {
  if (filter === undefined) return true;
  if ("filters" in filter) {
    const passes = (part: AttributeFilter) => passesFilter(attributes, part);
    return filter.type === "and" ? filter.filters.every(passes) : filter.filters.some(passes);
  }
  const attribute = Object.hasOwn(attributes, filter.key) ? attributes[filter.key] : undefined;
  switch (filter.type) {
    case "eq":
    case "in":
      return isAmong(attribute, filter);
    case "ne":
    case "nin":
      return !isAmong(attribute, filter);
    default:
      return hasOrder(attribute, filter);
  }
}

/**
 * The same as a condition. Equality is containment, which an index of the attributes answers: without it the filter is
 * applied to every file of a store.
 *
 * @param attributes the column, qualified as the statement needs it.
 */
export function filterSql(attributes: SQL, filter: AttributeFilter | undefined): SQL {
  if (filter === undefined) return sql`true`;
  if ("filters" in filter) {
    const parts = filter.filters.map((part) => filterSql(attributes, part));
    const none = filter.type === "and" ? sql`true` : sql`false`;
    return parts.length === 0 ? none : sql`(${sql.join(parts, sql.raw(` ${filter.type} `))})`;
  }
  switch (filter.type) {
    case "eq":
    case "in":
      return isListed(attributes, filter);
    case "ne":
    case "nin":
      return sql`not ${isListed(attributes, filter)}`;
    default:
      return orderSql(sql`(${attributes} -> ${filter.key}::text)`, filter);
  }
}

function listOf({ value }: Comparison): readonly Value[] {
  return typeof value === "object" ? value : [value];
}

function isAmong(attribute: Value | undefined, filter: Comparison): boolean {
  return attribute !== undefined && listOf(filter).includes(attribute);
}

function isListed(attributes: SQL, filter: Comparison): SQL {
  const values = listOf(filter);
  if (values.length === 0) return sql`false`;
  const parts = values.map((value) => sql`${JSON.stringify({ [filter.key]: value })}::jsonb`);
  if (parts.length > CONTAINED_MAX)
    return sql`${attributes} @> any(array[${sql.join(parts, sql`, `)}])`;
  const contained = parts.map((part) => sql`${attributes} @> ${part}`);
  return sql`(${sql.join(contained, sql` or `)})`;
}

function hasOrder(attribute: Value | undefined, { type, value }: Comparison): boolean {
  const order = compare(attribute, value);
  if (order === undefined) return false;
  switch (type) {
    case "gt":
      return order > 0;
    case "gte":
      return order >= 0;
    case "lt":
      return order < 0;
    default:
      return order <= 0;
  }
}

function compare(one: Value | undefined, other: Comparison["value"]): number | undefined {
  if (typeof one === "number" && typeof other === "number") return one - other;
  if (typeof one === "string" && typeof other === "string") return compareTexts(one, other);
  return undefined;
}

/** By code points, without a copy of the texts: every file of a store is compared. */
function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rankOf(one.charCodeAt(index)) - rankOf(other.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Surrogates stand for code points after all others. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit;
}

function orderSql(attribute: SQL, { type, value }: Comparison): SQL {
  const operator = sql.raw(OPERATORS[type as keyof typeof OPERATORS]);
  const isOf = (kind: string) => sql`coalesce(jsonb_typeof(${attribute}) = ${kind}, false)`;
  // As jsonb, numbers are compared without a cast that could fail.
  if (typeof value === "number")
    return sql`(${isOf("number")} and ${attribute} ${operator} ${JSON.stringify(value)}::jsonb)`;
  if (typeof value === "string")
    return sql`(${isOf("string")} and (${attribute} #>> '{}') collate "C" ${operator} ${value})`;
  return sql`false`;
}
