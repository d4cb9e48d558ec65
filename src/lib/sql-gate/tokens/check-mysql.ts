import {
  Refused,
  refuseUnreadableText,
  type StatementKind,
  toVerdict,
  type Verdict,
} from "../verdict.ts";
import {
  firstWords,
  isMark,
  onlyStatement,
  refuseFunction,
  refuseOtherCount,
  refuseSequence,
  refuseWords,
} from "./token-rules.ts";
import { type Token, tokenize } from "./tokenize.ts";

/** What the statements of one kind of caller may do. Whatever it says, they only read. */
export interface TokenPolicy {
  /** Bytes of a text in UTF-8. */
  readonly maxBytes: number;
  /** How many `?` must stand in it. */
  readonly parameters?: number;
}

const STATEMENTS: ReadonlyMap<string, StatementKind> = new Map([
  ["select", "select"],
  ["with", "select"],
  ["values", "select"],
  ["table", "select"],
  ["show", "show"],
  ["explain", "explain"],
  ["describe", "explain"],
  ["desc", "explain"],
]);

const REFUSED_WORDS: ReadonlySet<string> = new Set([
  "into",
  "outfile",
  "dumpfile",
  "insert",
  "update",
  "delete",
  "replace",
  "truncate",
  "load",
  "call",
  "exec",
  "execute",
  "handler",
  "procedure",
  "lock",
  "analyze",
  "attach",
  "pragma",
]);
/** They are functions, too: `REPLACE(a, 'x', 'y')`. */
const CALLABLE: ReadonlySet<string> = new Set(["insert", "replace", "truncate"]);

const REFUSED_SEQUENCES = [
  ["for", "share"],
  ["for", "connection"],
  ["next", "value", "for"],
] as const;

/** What waits, locks, reads files, runs programs or other statements, or steers the server; and the names of plugins. */
const REFUSED_FUNCTION =
  /^(sleep|benchmark|load_file|(get|release|is_free|is_used)_lock|release_all_locks|nextval|setval|lastval|xp_cmdshell)$|^(sys_|lib_mysqludf|spider_|group_replication_|asynchronous_connection_failover_|keyring_|audit_log|firewall_|version_tokens_|service_get_|service_release_|(master|source)_(pos|gtid)_wait|wait_(for|until)_|mysql_|mysqlx_|innodb_|gtid_|wsrep_|ps_|set_)/;

/** Schemas with passwords, settings and what others run. */
const REFUSED_SCHEMAS: ReadonlySet<string> = new Set(["mysql", "performance_schema", "sys"]);

/** The tables of information_schema that describe the shape of the data. */
const SHAPE_TABLES: ReadonlySet<string> = new Set([
  "schemata",
  "tables",
  "columns",
  "columns_extensions",
  "tables_extensions",
  "views",
  "view_table_usage",
  "statistics",
  "partitions",
  "key_column_usage",
  "table_constraints",
  "referential_constraints",
  "check_constraints",
  "engines",
  "character_sets",
  "collations",
  "collation_character_set_applicability",
  "geometry_columns",
  "st_geometry_columns",
  "st_spatial_reference_systems",
  "keywords",
  "sequences",
  "periods",
]);

/** Those of them that show the options of tables as well. */
const OPTION_TABLES: ReadonlySet<string> = new Set(["tables", "partitions"]);
const OPTION_COLUMNS: ReadonlySet<string> = new Set([
  "create_options",
  "table_comment",
  "partition_comment",
]);
const BEFORE_COLUMNS = /^(select|all|distinct|distinctrow|high_priority|straight_join|sql_\w+)$/;

/**
 * The first words after SHOW that show the shape of the data. Others show rights, settings or what others run; CREATE
 * TABLE and TABLE STATUS the password with which a table reaches another server (FEDERATED, SPIDER, CONNECT).
 */
const SHOWN =
  /^((full |extended |extended full )?(tables|columns|fields)|databases|schemas|index|indexes|keys|character set|charset|collation|warnings|errors|count|engines$|storage engines$)\b/;

const SHOWN_VARIABLE =
  /^(version|version_comment|sql_mode|time_zone|system_time_zone|timestamp|lower_case_table_names|character_set_\w+|collation_\w+|div_precision_increment|group_concat_max_len|max_execution_time|max_statement_time|autocommit|tx_isolation|tx_read_only|transaction_isolation|transaction_read_only)$/;

/**
 * Decides whether a text may run on MySQL or MariaDB: one statement that reads, told by its tokens. `database` is the
 * connection's default one. Functions of the server's own owner are not seen; a read-only transaction bounds them.
 */
export function checkMysql(
  sql: string,
  { maxBytes, parameters = 0 }: TokenPolicy,
  database: string | undefined,
): Verdict {
  return toVerdict(() => {
    refuseUnreadableText(sql, maxBytes);
    const takesParameters = parameters > 0;
    const tokens = onlyStatement(tokenize(sql, "mysql", { takesParameters }));
    refuseOtherCount(tokens, parameters);
    const [first = ""] = firstWords(tokens, 1);
    const kind = STATEMENTS.get(first);
    if (kind === undefined) {
      throw new Refused(
        `A statement that begins with ${first === "" ? "this" : first.toUpperCase()} is refused: only reading statements may run.`,
        "Begin with SELECT, WITH, VALUES, TABLE, SHOW, EXPLAIN or DESCRIBE.",
      );
    }
    refuseWords(tokens, REFUSED_WORDS, CALLABLE);
    for (const sequence of REFUSED_SEQUENCES) refuseSequence(tokens, sequence);
    if (kind === "show") checkShown(tokens);
    if (kind !== "select") refuseNamedSchemas(tokens);
    refuseTableOptions(tokens);
    if (database !== undefined) refuseOwnSchema(database);
    for (const [index, token] of tokens.entries()) checkToken(token, index, tokens);
    return kind;
  });
}

function checkShown(tokens: readonly Token[]): void {
  const words = firstWords(tokens, 5).slice(1).join(" ");
  if (SHOWN.test(words.trim())) return;
  throw new Refused(
    `SHOW ${words.trim().toUpperCase()} is refused.`,
    "Use SHOW TABLES, COLUMNS, INDEX or DATABASES, and for more information_schema.tables, views and columns.",
  );
}

/** SHOW and DESCRIBE take a schema also without a dot: `SHOW TABLES FROM mysql`, `SHOW COLUMNS IN t IN mysql`. */
function refuseNamedSchemas(tokens: readonly Token[]): void {
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== "word" || (text !== "from" && text !== "in")) continue;
    const named = tokens[index + 1];
    const isName = named !== undefined && named.kind !== "mark" && named.kind !== "number";
    // A name with a dot is checked as in any other statement.
    if (isName && !isMark(tokens[index + 2], ".")) refuseOwnSchema(named.text);
  }
}

/** Refuses the columns of information_schema that hold the options and comments of tables, however they are asked for. */
function refuseTableOptions(tokens: readonly Token[]): void {
  const isDescribed = tokens.some(
    ({ text }, index) => OPTION_TABLES.has(text) && isMark(tokens[index - 1], "."),
  );
  if (!isDescribed) return;
  const found = tokens.find(
    (token, index) => OPTION_COLUMNS.has(token.text) || isWholeRow(token, tokens[index - 1]),
  );
  if (found === undefined) return;
  throw new Refused(
    `${found.text.toUpperCase()} of information_schema is refused here: a table's options and comments can hold passwords of other servers.`,
    "Name the columns that you need, without CREATE_OPTIONS, TABLE_COMMENT and PARTITION_COMMENT.",
  );
}

/** `*`, `t.*`, and the statement `TABLE t`; not the marks of `COUNT(*)` and `a * b`. */
function isWholeRow(token: Token, before: Token | undefined): boolean {
  if (token.kind === "word" && token.text === "table") return !isMark(before, ".");
  if (!isMark(token, "*")) return false;
  if (before?.kind === "mark") return before.text === "." || before.text === ",";
  return before?.kind === "word" && BEFORE_COLUMNS.test(before.text);
}

function checkToken(token: Token, index: number, tokens: readonly Token[]): void {
  if (isMark(token, "@")) checkVariable(index, tokens);
  const isName = token.kind === "word" || token.kind === "name" || token.kind === "double";
  if (!isName) return;
  const next = tokens[index + 1];
  if (isMark(next, "(") && REFUSED_FUNCTION.test(token.text)) refuseFunction(token.text);
  if (!isMark(next, ".")) return;
  refuseOwnSchema(token.text, tokens[index + 2]?.text);
}

/** Refuses the server's own schemas, but for the tables of information_schema that only describe. */
function refuseOwnSchema(schema: string, table?: string): void {
  const name = schema.toLowerCase();
  const isDescribing = table !== undefined && SHAPE_TABLES.has(table);
  if (!REFUSED_SCHEMAS.has(name) && (name !== "information_schema" || isDescribing)) return;
  throw new Refused(
    `${table === undefined ? schema : `${schema}.${table}`} is refused: it is the server's own.`,
    "Read the database's own tables. For their shape read information_schema.tables and information_schema.columns.",
  );
}

/** A variable of the user carries values from one statement to the next; one of the server may be a secret. */
function checkVariable(index: number, tokens: readonly Token[]): void {
  if (isMark(tokens[index - 1], "@")) return;
  const isOfServer = isMark(tokens[index + 1], "@");
  let at = index + 2;
  const isScoped = /^(global|session|local)$/.test(tokens[at]?.text ?? "");
  if (isScoped && isMark(tokens[at + 1], ".")) at += 2;
  if (isOfServer && SHOWN_VARIABLE.test(tokens[at]?.text ?? "")) return;
  throw new Refused(
    "A variable is refused.",
    "Write values themselves; of the server's variables @@version, @@sql_mode and @@time_zone can be read.",
  );
}
