/** Functions of PostgreSQL that are volatile because their result changes, not because they do something. */
export const ALLOWED_VOLATILE: readonly string[] = [
  "random",
  "random_normal",
  "clock_timestamp",
  "timeofday",
  "gen_random_uuid",
  "uuidv4",
  "uuidv7",
  "pg_is_in_recovery",
  "pg_partition_tree",
  "pg_partition_ancestors",
  "pg_partition_root",
  "pg_relation_size",
  "pg_table_size",
  "pg_indexes_size",
  "pg_total_relation_size",
  "pg_database_size",
  "pg_tablespace_size",
];

/**
 * Names that are refused whatever a database says of their volatility, in every schema; a `*` at the end stands for any
 * rest. Most are volatile as well: the list is about what an extension, another version or a mistake declares as stable.
 */
export const EXCLUDED_FUNCTIONS: readonly string[] = [
  // They run SQL, XPath or a search that is given as a text, which the gate does not see.
  "query_to_xml*",
  "cursor_to_xml*",
  "table_to_xml*",
  "schema_to_xml*",
  "database_to_xml*",
  "ts_stat",
  "crosstab*",
  "connectby",
  "xpath_table",
  "xslt_process",
  "dblink*",
  "postgres_fdw*",
  // Files and large objects of the server.
  "pg_read_*",
  "pg_ls_*",
  "pg_stat_file",
  "pg_file_*",
  "lo_*",
  "loread",
  "lowrite",
  "pg_relation_filepath",
  "pg_tablespace_location",
  "pg_config",
  "pg_current_logfile",
  "pg_hba_file_rules",
  "pg_ident_file_mappings",
  "pg_show_all_file_settings",
  // Settings, which hold passwords of other servers; `current_setting` is checked by its argument.
  "set_config",
  // It shows the settings of the function that it describes.
  "pg_get_functiondef",
  "pg_show_all_settings",
  // Sequences, transaction numbers, sessions, locks, waiting.
  "nextval",
  "setval",
  "currval",
  "lastval",
  "txid_current",
  "pg_current_xact_id",
  "pg_sleep*",
  "pg_advisory_*",
  "pg_try_advisory_*",
  "pg_notify",
  "pg_terminate_backend",
  "pg_cancel_backend",
  "pg_cursor",
  "pg_prepared_statement",
  "pg_prepared_xact",
  // What others run, with the values in their statements, and from where.
  "pg_stat_get_activity",
  "pg_stat_get_backend_*",
  "pg_stat_get_wal_senders",
  "pg_stat_get_wal_receiver",
  "pg_stat_get_progress_info",
  "pg_stat_statements*",
];

/**
 * Functions that are allowed or refused by their arguments. Only a call shows these, so any other way to reach them is
 * refused: as a field `(x).f`, and through an operator, a cast or an aggregate of a database's own.
 */
export const CHECKED_BY_ARGUMENT: ReadonlySet<string> = new Set(["current_setting"]);

/**
 * Functions that stand for syntax of their own, such as `EXTRACT(year FROM d)`. Older servers have them under other
 * names or inside the grammar, so that their catalog does not list them.
 */
export const SYNTAX_FUNCTIONS: ReadonlySet<string> = new Set([
  "btrim",
  "extract",
  "is_normalized",
  "like_escape",
  "ltrim",
  "normalize",
  "overlaps",
  "overlay",
  "pg_collation_for",
  "position",
  "rtrim",
  "similar_to_escape",
  "substring",
  "system_user",
  "timezone",
  "xmlexists",
]);
