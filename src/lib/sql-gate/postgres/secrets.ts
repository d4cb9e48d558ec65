import type { Refusal } from "../verdict.ts";
import type { RelationName } from "./policy.ts";

/** What PostgreSQL's catalogs hold of passwords, of other sessions' statements, and of the columns' values. */
const SECRET_RELATIONS: ReadonlySet<string> = new Set([
  // Passwords of users and of other servers
  "pg_authid",
  "pg_shadow",
  // Settings of roles and of functions, which may be passwords
  "pg_roles",
  "pg_user",
  "pg_proc",
  "pg_user_mapping",
  "pg_user_mappings",
  "pg_foreign_server",
  "pg_foreign_data_wrapper",
  "pg_foreign_table",
  "pg_subscription",
  "_pg_user_mappings",
  "_pg_foreign_servers",
  "_pg_foreign_tables",
  "_pg_foreign_table_columns",
  "_pg_foreign_data_wrappers",
  "user_mapping_options",
  "foreign_server_options",
  "foreign_table_options",
  // Settings and files of the server
  "pg_settings",
  "pg_db_role_setting",
  "pg_file_settings",
  "pg_hba_file_rules",
  "pg_ident_file_mappings",
  "pg_config",
  // What others do and from where
  "pg_stat_activity",
  "pg_stat_statements",
  "pg_stat_replication",
  "pg_stat_wal_receiver",
  "pg_stat_ssl",
  "pg_stat_gssapi",
  "pg_cursors",
  "pg_prepared_statements",
  "pg_prepared_xacts",
  "pg_replication_origin_status",
  // Values of rows past the rights on their tables
  "pg_largeobject",
  "pg_statistic",
  "pg_statistic_ext_data",
]);

/** Why a relation holds what only the server's administrator may read; undefined for any other one. */
export function refuseSecretRelation({ schema, name }: RelationName): Refusal | undefined {
  const isToast = schema?.startsWith("pg_toast") === true;
  if (!isToast && !SECRET_RELATIONS.has(name)) return undefined;
  return {
    message: `The relation ${schema === undefined ? name : `${schema}.${name}`} is refused: it holds secrets of the server.`,
    hint: "Read the database's own tables. For their shape read information_schema.tables and information_schema.columns.",
  };
}

/** Columns with settings, also where a view of the owner's shows them. */
const SECRET_COLUMNS: ReadonlySet<string> = new Set([
  "rolconfig",
  "useconfig",
  "proconfig",
  "setconfig",
]);

/** Why a column may not be named, whatever relation has it; undefined where it may. */
export function refuseSecretColumn(name: string): Refusal | undefined {
  if (!SECRET_COLUMNS.has(name)) return undefined;
  return {
    message: `The column ${name} is refused: it holds settings, which can be secrets of the server.`,
    hint: "Name the columns that you need, without this one.",
  };
}

const SECRET_SETTING =
  /[.]|^all$|conninfo|command|passphrase|_file|director|^(ssl|krb|ldap|gss)_|preload|listen_addresses|unix_socket/;

/** Why a setting, in lower case, may not be shown; undefined where it may. Custom ones (`app.x`) often hold secrets. */
export function refuseSecretSetting(name: string): Refusal | undefined {
  if (!SECRET_SETTING.test(name)) return undefined;
  return {
    message: `The setting ${name} is refused: it can hold secrets of the server.`,
    hint: "Name a setting of the session, such as TimeZone, DateStyle or server_version.",
  };
}
