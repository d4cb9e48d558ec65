import {
  type FunctionCatalog,
  restrictCatalog,
} from "../../../lib/sql-gate/postgres/function-catalog.ts";
import type { TreeNode } from "../../../lib/sql-gate/postgres/parse-postgres.ts";
import type { PostgresPolicy, RelationName } from "../../../lib/sql-gate/postgres/policy.ts";
import { type Refusal, Refused } from "../../../lib/sql-gate/verdict.ts";
import { refuseCatalog } from "./check-query-names.ts";
import { checkSetting } from "./settings.ts";

/** Bytes of a text in UTF-8. */
const TEXT_MAX_BYTES = 128 * 1024;

const READABLE_SCHEMAS: ReadonlySet<string> = new Set(["data", "pg_catalog", "information_schema"]);

/**
 * Relations of `pg_catalog` that may not be read. The statements run as a plain role, and PostgreSQL shows such a role
 * most catalogs by design. Tools read these at their start, so they pass:
 * - `pg_settings` and `SHOW ALL`: the server hides the settings that only its administrator may see;
 * - `pg_stat_activity`, `pg_stat_ssl`, `pg_stat_replication`: of other roles' sessions the server hides the statement
 *   and the address. In the embedded copy the session belongs to its superuser, so they are hidden there as well;
 * - `pg_roles`, `pg_user`, `pg_proc`: with the settings of roles and functions, which every login role may read;
 * - `pg_stats`: the server shows only columns that the role may read.
 */
const REFUSED_RELATIONS: ReadonlySet<string> = new Set([
  // Statements with their values, which are other clients' where clients share a session.
  "pg_prepared_statements",
  "pg_cursors",
  // Settings of databases and roles, in which administrators keep secrets of their applications. No tool needs it.
  "pg_db_role_setting",
  // The server refuses plain roles itself. Should a session's role ever be lost, the gate still does.
  "pg_authid",
  "pg_shadow",
  "pg_user_mapping",
  "pg_hba_file_rules",
  "pg_ident_file_mappings",
  "pg_file_settings",
  "pg_config",
  "pg_largeobject",
  "pg_statistic",
  "pg_statistic_ext_data",
  "pg_replication_origin_status",
  "pg_backend_memory_contexts",
  "pg_shmem_allocations",
]);

function refuseRelation({ schema, name }: RelationName): Refusal | undefined {
  if (schema !== undefined && !READABLE_SCHEMAS.has(schema)) {
    return {
      message: `The relation ${schema}.${name} is refused: only the schema data and the catalogs can be read.`,
      hint: "The views of data are listed in information_schema.tables; write data.name, or the name alone.",
    };
  }
  if (schema === "data" || !REFUSED_RELATIONS.has(name)) return undefined;
  return {
    message: `The relation ${name} is refused: it can hold secrets of the server or of others.`,
    hint: "Read the views of the schema data. Their shape is in information_schema.columns.",
  };
}

/** The time of the rows that a session of the embedded copy reads. */
const AS_OF = "data.as_of";

/** Settings of applications (`app.x`) often hold secrets. The server hides its own from plain roles. */
function refuseSetting(name: string): Refusal | undefined {
  if (!name.includes(".") || name === AS_OF) return undefined;
  return {
    message: `The setting ${name} is refused: settings of applications can be secrets.`,
    hint: "Name a setting of PostgreSQL's own, such as TimeZone or server_version.",
  };
}

const SET_CONFIG = "set_config";

/** Tools set formats by this function too. It must say which setting and to what, as SET does. */
function checkCall(called: string, args: readonly TreeNode[]): void {
  if (called !== SET_CONFIG) return;
  const [name, value] = args.map(constantText);
  if (name === undefined || value === undefined) {
    throw new Refused(
      "set_config is refused here.",
      "Give it the setting's name and value as texts: set_config('TimeZone', 'UTC', false).",
    );
  }
  checkSetting(name, [value], undefined);
}

function constantText(arg: TreeNode): string | undefined {
  const constant = arg["A_Const"] as { sval?: { sval?: string } } | undefined;
  return constant?.sval === undefined ? undefined : (constant.sval.sval ?? "");
}

export const PORT_POLICY: PostgresPolicy = {
  maxBytes: TEXT_MAX_BYTES,
  statements: new Set(["select", "explain", "show"]),
  takesParameters: true,
  refuseRelation,
  refuseColumn: () => undefined,
  refuseSetting,
  checkCall,
};

/** For `query`, whose session is the next one's: nothing may be set. See also `checkQueryNames`. */
export const QUERY_POLICY: PostgresPolicy = {
  ...PORT_POLICY,
  refuseRelation: (relation) => refuseCatalog(relation) ?? refuseRelation(relation),
  checkCall(called) {
    if (called !== SET_CONFIG) return;
    throw new Refused(
      "set_config is refused here: each query has a session of its own.",
      "Convert in the query, such as with to_char or AT TIME ZONE.",
    );
  },
};

const SCHEMAS = {
  functions: new Set(["pg_catalog", "information_schema"]),
  types: READABLE_SCHEMAS,
};

/**
 * Excluded functions that tools call where they show tablespaces and the source of functions, settings and the state of
 * a replica, or ask what has changed since. PostgreSQL lets every role call them, and what they tell is no secret.
 * `set_config` is checked by its arguments.
 */
export const ALSO_ALLOWED: ReadonlySet<string> = new Set([
  ...["pg_tablespace_location", "pg_get_functiondef"],
  ...["pg_show_all_settings", "pg_is_wal_replay_paused", "txid_current"],
  SET_CONFIG,
]);

const restricted = new WeakMap<FunctionCatalog, FunctionCatalog>();

/**
 * The functions of a database that the port may call: PostgreSQL's own. One of the database's own may be declared
 * stable and run with its owner's rights. `search_path` has no schema of them, so that no short name means one.
 */
export function portCatalog(catalog: FunctionCatalog): FunctionCatalog {
  const known = restricted.get(catalog);
  if (known !== undefined) return known;
  const made = restrictCatalog(catalog, SCHEMAS, ALSO_ALLOWED);
  restricted.set(catalog, made);
  return made;
}
