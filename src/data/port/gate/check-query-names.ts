import { readName } from "../../../lib/sql-gate/postgres/check-names.ts";
import type { FunctionCatalog } from "../../../lib/sql-gate/postgres/function-catalog.ts";
import type { TreeNode } from "../../../lib/sql-gate/postgres/parse-postgres.ts";
import type { RelationName } from "../../../lib/sql-gate/postgres/policy.ts";
import { walkTree } from "../../../lib/sql-gate/postgres/walk-tree.ts";
import { type Refusal, Refused } from "../../../lib/sql-gate/verdict.ts";

/**
 * The schema `data` has the views of everybody's datasets, and PostgreSQL shows each role the names, columns and comments
 * of all of them. Tools on the port need its catalogs. A statement of `query` needs none, so it reads nothing of them:
 * information_schema has only what the role may read.
 */
const HINT =
  "GET /v1/data lists what you may read, as information_schema.tables and information_schema.columns do.";

/** Why `query` may not read a relation of the catalogs; undefined for any other. */
export function refuseCatalog({ schema, name }: RelationName): Refusal | undefined {
  const isShort = schema === undefined && name.startsWith("pg_");
  // Everybody may use the type of each view, so PostgreSQL lists all of them there.
  const isOfTypes = schema === "information_schema" && name === "udt_privileges";
  if (schema !== "pg_catalog" && !isShort && !isOfTypes) return undefined;
  return {
    message: `The relation ${name} is refused: it tells of what others may read.`,
    hint: isShort ? `${HINT} Write data.${name} where it is a table of data.` : HINT,
  };
}

/** Functions of the catalogs, those that turn names and numbers into each other, and those that read a type's text. */
const OF_CATALOGS = new RegExp(
  [
    "pg_.*",
    "to_reg.*",
    "reg(class|collation|namespace|oper|operator|proc|procedure|role|type)(in|out|recv|send)?",
    "has_.*_privilege",
    "(obj|col|shobj)_description",
    "(acl|makeacl|hash_acl).*",
    "(array|domain|enum|multirange|range|record)_(in|recv)",
    "format_type|oidvectortypes|row_security_active|satisfies_hash_partition",
  ]
    .map((part) => `^(${part})$`)
    .join("|"),
);
/** Functions with such a name that look at values and at the server alone. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...["pg_typeof", "pg_collation_for", "pg_column_size", "pg_column_compression"],
  ...["pg_size_pretty", "pg_size_bytes", "pg_client_encoding", "pg_backend_pid"],
  ...["pg_is_in_recovery", "pg_postmaster_start_time", "pg_conf_load_time"],
]);

/** PostgreSQL's types of values. Each view is a type too, which has its columns. */
const TYPES: ReadonlySet<string> = new Set([
  ...["bool", "bit", "varbit", "bytea", "uuid", "json", "jsonb", "jsonpath", "xml"],
  ...["text", "varchar", "bpchar", "char", "name", "tsvector", "tsquery", "regconfig"],
  ...["int2", "int4", "int8", "float4", "float8", "numeric", "money", "oid", "unknown"],
  ...["date", "time", "timetz", "timestamp", "timestamptz", "interval"],
  ...["inet", "cidr", "macaddr", "macaddr8"],
  ...["point", "line", "lseg", "box", "path", "polygon", "circle"],
  ...["int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange"],
  ...["int4multirange", "int8multirange", "nummultirange"],
  ...["datemultirange", "tsmultirange", "tstzmultirange"],
]);

/**
 * Checks what a query names beside relations, and returns the relations that it reads by a name that is no `WITH` of its
 * own there. Throws `Refused`.
 */
export function checkQueryNames(query: TreeNode, catalog: FunctionCatalog): readonly string[] {
  const functions = catalog.safeFunctions.get("pg_catalog");
  /** `a.f` and `(x).f` call the function `f` where the value has no such field. A column may have any other name. */
  const refuseField = (name: string) => {
    if (functions?.has(name) === true) refuseFunction(name);
  };
  walkTree(query, (type, node) => {
    switch (type) {
      case "FuncCall":
        refuseFunction(readName(node["funcname"]).at(-1) ?? "");
        return;
      case "ColumnRef":
        readName(node["fields"]).slice(1).forEach(refuseField);
        return;
      case "A_Indirection":
        readName(node["indirection"]).forEach(refuseField);
        return;
      case "TypeName":
        refuseType(readName(node["names"]).at(-1) ?? "");
        return;
      default:
    }
  });
  return readRelations(query)
    .filter(({ schema }) => schema === undefined || schema === "data")
    .map(({ name }) => name);
}

/** A part of a tree, with the names that stand for a `WITH` there. */
interface Scoped {
  readonly part: unknown;
  readonly own: ReadonlySet<string>;
}

/** Lists the relations of a tree that was walked, without the names that stand for a `WITH` where they are read. */
function readRelations(query: TreeNode): readonly RelationName[] {
  const read: RelationName[] = [];
  const pending: Scoped[] = [{ part: query, own: new Set() }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { part, own } = next;
    if (Array.isArray(part)) pending.push(...part.map((item) => ({ part: item, own })));
    else if (isNode(part)) readNode(part, own, { read, pending });
  }
  return read;
}

function readNode(
  { withClause, RangeVar: relation, ...rest }: TreeNode,
  own: ReadonlySet<string>,
  { read, pending }: { readonly read: RelationName[]; readonly pending: Scoped[] },
): void {
  const found = isNode(relation) ? nameOf(relation) : undefined;
  if (found !== undefined && (found.schema !== undefined || !own.has(found.name))) read.push(found);
  const within = isNode(withClause) ? openScope(withClause, own, pending) : own;
  for (const field of Object.values(rest)) pending.push({ part: field, own: within });
}

function isNode(part: unknown): part is TreeNode {
  return typeof part === "object" && part !== null;
}

function nameOf({ schemaname, relname }: TreeNode): RelationName {
  return {
    schema: schemaname === undefined ? undefined : String(schemaname),
    name: String(relname),
  };
}

/** Adds the queries of a `WITH`, and returns the names that stand for one in the statement that has it. */
function openScope(
  { ctes, recursive }: TreeNode,
  outer: ReadonlySet<string>,
  pending: Scoped[],
): ReadonlySet<string> {
  const all = (ctes as readonly TreeNode[]).map((cte) => cte["CommonTableExpr"] as TreeNode);
  const names = all.map(({ ctename }) => String(ctename));
  for (const [at, cte] of all.entries()) {
    // One that is not recursive reads those before it: by its own name it reads a relation.
    const known = recursive === true ? names : names.slice(0, at);
    pending.push({ part: cte, own: new Set([...outer, ...known]) });
  }
  return new Set([...outer, ...names]);
}

function refuseFunction(name: string): void {
  if (!OF_CATALOGS.test(name) || HARMLESS.has(name)) return;
  throw new Refused(`${name} is refused: it tells of what others may read.`, HINT);
}

/** `_x` is the type of arrays of `x`. */
function refuseType(name: string): void {
  if (TYPES.has(name) || TYPES.has(name.replace(/^_/, ""))) return;
  throw new Refused(
    `The type ${name} is refused: a query names only PostgreSQL's types of values.`,
    "Leave the cast out, or cast to another type.",
  );
}
