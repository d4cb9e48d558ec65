import { ALLOWED_VOLATILE, CHECKED_BY_ARGUMENT, EXCLUDED_FUNCTIONS } from "./function-lists.ts";

/** The functions, operators and types of one database, as far as the gate decides by them. Names are exact. */
export interface FunctionCatalog {
  /** By schema, the names whose every overload reads only. */
  readonly safeFunctions: ReadonlyMap<string, ReadonlySet<string>>;
  readonly unsafeFunctions: ReadonlyMap<string, ReadonlySet<string>>;
  /** The unsafe ones of any schema that can be called with one argument, and so be written as a field: `(x).f`. */
  readonly unsafeFields: ReadonlySet<string>;
  readonly safeOperators: ReadonlyMap<string, ReadonlySet<string>>;
  readonly unsafeOperators: ReadonlyMap<string, ReadonlySet<string>>;
  /**
   * Types of any schema whose input or whose casts call an unsafe function. Of two types of a cast it is the database's
   * own, so that a cast from `int` does not spoil `int`.
   */
  readonly unsafeTypes: ReadonlySet<string>;
  /** Where only functions and types of some schemas may be named: these. */
  readonly schemas?: CatalogSchemas;
}

export interface CatalogSchemas {
  /** Of functions and operators. */
  readonly functions: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
}

const LISTS = [
  "safe_function",
  "unsafe_function",
  "unsafe_field",
  "safe_operator",
  "unsafe_operator",
  "unsafe_type",
] as const;

const literals = (texts: readonly string[]) =>
  texts.map((text) => `'${text.replaceAll("'", "''")}'`).join(", ");

const isPattern = (name: string) => name.endsWith("*");
const exactNames = literals(EXCLUDED_FUNCTIONS.filter((name) => !isPattern(name)));
/** For LIKE, in which `_` stands for any character. */
const namePatterns = literals(
  EXCLUDED_FUNCTIONS.filter(isPattern).map((name) => name.replaceAll("_", "\\_").replace("*", "%")),
);

/**
 * Reads what `readFunctionCatalog` takes: a row for each list and schema, `list`, `schema` and `names` (a JSON array).
 * A function reads only if it is immutable or stable, or one of a few harmless volatile ones of PostgreSQL, and is not
 * excluded by its name; what only a call of it shows to be harmless must not stand behind an operator, a cast or an
 * aggregate. An aggregate is what its parts are: it is marked immutable itself. PostgreSQL 11 or newer.
 */
export const FUNCTION_CATALOG_SQL = `
with rated as materialized (
  select p.oid, p.proname as name, n.nspname as schema,
    p.pronargs - p.pronargdefaults <= 1 and (p.pronargs > 0 or p.provariadic <> 0)
      and not 'pg_catalog.internal'::pg_catalog.regtype = any (p.proargtypes) as is_field,
    p.prokind = 'p' or p.proname in (${exactNames}) or p.proname like any (array[${namePatterns}])
      or (p.provolatile = 'v' and not (n.nspname = 'pg_catalog' and p.proname in (${literals(ALLOWED_VOLATILE)})))
      as is_unsafe,
    p.proname in (${literals([...CHECKED_BY_ARGUMENT])}) as is_checked
  from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
), unsafe_aggregates as materialized (
  select a.aggfnoid from pg_catalog.pg_aggregate a,
    lateral pg_catalog.unnest(array[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn,
      a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn]::oid[]) part (oid)
  where part.oid in (select oid from rated where is_unsafe or is_checked)
), functions as materialized (
  select r.oid, r.name, r.schema, r.is_field, r.is_checked,
    r.is_unsafe or r.oid in (select aggfnoid from unsafe_aggregates) as is_unsafe
  from rated r
), function_names as (
  select schema, name, pg_catalog.bool_or(is_unsafe) as is_unsafe, pg_catalog.bool_or(is_unsafe and is_field) as is_field
  from functions group by schema, name
), operator_names as (
  select n.nspname as schema, o.oprname as name, pg_catalog.bool_or(f.is_unsafe or f.is_checked) as is_unsafe
  from pg_catalog.pg_operator o join pg_catalog.pg_namespace n on n.oid = o.oprnamespace
  join functions f on f.oid = o.oprcode
  group by n.nspname, o.oprname
), type_names as (
  select t.typname as name from pg_catalog.pg_type t,
    lateral pg_catalog.unnest(array[t.typinput, t.typoutput, t.typmodin]::oid[]) part (oid)
  where part.oid in (select oid from functions where is_unsafe or is_checked)
  union
  select t.typname from pg_catalog.pg_cast c
  join pg_catalog.pg_type source on source.oid = c.castsource join pg_catalog.pg_type target on target.oid = c.casttarget
  join pg_catalog.pg_type t on t.oid in (source.oid, target.oid)
  where c.castfunc in (select oid from functions where is_unsafe or is_checked) and (t.typnamespace <> 'pg_catalog'::pg_catalog.regnamespace
    or (t.oid = target.oid and source.typnamespace = target.typnamespace))
)
select list, schema, pg_catalog.json_agg(name)::text as names
from (
  select case when is_unsafe then 'unsafe_function' else 'safe_function' end as list, schema, name from function_names
  union all select 'unsafe_field', '', name from function_names where is_field
  union all select case when is_unsafe then 'unsafe_operator' else 'safe_operator' end, schema, name from operator_names
  union all select 'unsafe_type', '', name from type_names
) listed (list, schema, name)
group by list, schema`;

/** Returns the catalog from the rows of `FUNCTION_CATALOG_SQL`. Throws for anything else. */
export function readFunctionCatalog(rows: readonly (readonly unknown[])[]): FunctionCatalog {
  const lists = new Map(LISTS.map((list) => [list as string, new Map<string, Set<string>>()]));
  for (const [list, schema, names] of rows) {
    const parsed: unknown = JSON.parse(String(names));
    if (!Array.isArray(parsed)) throw new TypeError("The names of a function catalog are no list.");
    const schemas = lists.get(String(list));
    if (schemas === undefined) throw new TypeError(`A function catalog has no list '${list}'.`);
    schemas.set(String(schema), new Set(parsed.map(String)));
  }
  const list = (name: (typeof LISTS)[number]) => lists.get(name) ?? new Map<string, Set<string>>();
  if (!list("safe_function").has("pg_catalog")) {
    throw new TypeError("A function catalog without the functions of PostgreSQL is incomplete.");
  }
  return {
    safeFunctions: list("safe_function"),
    unsafeFunctions: list("unsafe_function"),
    unsafeFields: list("unsafe_field").get("") ?? new Set(),
    safeOperators: list("safe_operator"),
    unsafeOperators: list("unsafe_operator"),
    unsafeTypes: list("unsafe_type").get("") ?? new Set(),
  };
}

/**
 * Returns the catalog without the functions and operators of other schemas. `allowed` are excluded names of `pg_catalog`
 * that may be called all the same.
 */
export function restrictCatalog(
  catalog: FunctionCatalog,
  schemas: CatalogSchemas,
  allowed: ReadonlySet<string>,
): FunctionCatalog {
  const within = (names: FunctionCatalog["safeFunctions"]) =>
    new Map([...names].filter(([schema]) => schemas.functions.has(schema)));
  const unsafe = catalog.unsafeFunctions.get("pg_catalog") ?? new Set();
  const added = [...allowed].filter((name) => unsafe.has(name));
  const without = (names: ReadonlySet<string>) =>
    new Set([...names].filter((name) => !allowed.has(name)));
  const safe = catalog.safeFunctions.get("pg_catalog") ?? new Set();
  return {
    ...catalog,
    safeFunctions: within(catalog.safeFunctions).set("pg_catalog", new Set([...safe, ...added])),
    unsafeFunctions: new Map(catalog.unsafeFunctions).set("pg_catalog", without(unsafe)),
    safeOperators: within(catalog.safeOperators),
    schemas,
  };
}
