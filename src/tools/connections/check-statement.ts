import { checkPostgres } from "../../lib/sql-gate/postgres/check-postgres.ts";
import type { PostgresPolicy } from "../../lib/sql-gate/postgres/policy.ts";
import {
  refuseSecretColumn,
  refuseSecretRelation,
  refuseSecretSetting,
} from "../../lib/sql-gate/postgres/secrets.ts";
import { checkMysql } from "../../lib/sql-gate/tokens/check-mysql.ts";
import { checkSqlite } from "../../lib/sql-gate/tokens/check-sqlite.ts";
import type { Verdict } from "../../lib/sql-gate/verdict.ts";
import type { SavedConnection } from "./connection.ts";
import type { FunctionCatalogs } from "./function-catalogs.ts";

/** Parsing works on the thread that all calls share, so a model's statement is bounded. */
const MAX_BYTES = 8 * 1024;

export const TOOL_POLICY: PostgresPolicy = {
  maxBytes: MAX_BYTES,
  statements: new Set(["select", "explain", "show"]),
  takesParameters: false,
  refuseRelation: refuseSecretRelation,
  refuseColumn: refuseSecretColumn,
  refuseSetting: refuseSecretSetting,
};

export interface CheckedStatement {
  readonly sql: string;
  /** The number of its parameters. */
  readonly parameters?: number;
}

/** Decides whether a statement may run through a saved connection. Rejects as `FunctionCatalogs.read` does. */
export async function checkStatement(
  { sql, parameters = 0 }: CheckedStatement,
  connection: SavedConnection,
  catalogs: FunctionCatalogs,
  signal: AbortSignal,
): Promise<Verdict> {
  switch (connection.kind) {
    case "postgres":
      return checkPostgres(sql, await catalogs.read(connection, signal), {
        ...TOOL_POLICY,
        takesParameters: parameters > 0,
      });
    case "mysql":
      return checkMysql(sql, { maxBytes: MAX_BYTES, parameters }, connection.database ?? undefined);
    case "sqlite":
      return checkSqlite(sql, { maxBytes: MAX_BYTES, parameters });
  }
}
