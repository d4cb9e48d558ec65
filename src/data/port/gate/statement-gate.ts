import type { FunctionCatalog } from "../../../lib/sql-gate/postgres/function-catalog.ts";

/** What a statement that may run does to its session. EXPLAIN is `read`; `RESET ALL` is `discard`. */
export type PortStatementKind =
  | "read"
  | "show"
  | "set"
  | "begin"
  | "end"
  | "savepoint"
  | "declare"
  | "fetch"
  | "close"
  | "prepare"
  | "execute"
  | "deallocate"
  | "discard";

export interface PortRefusal {
  /**
   * SQLSTATE: 42501 for what is refused, 42601 for what PostgreSQL cannot parse, 54000 for too long a text, 54001 for
   * one that is nested too deeply, 22021 for characters that no text may have.
   */
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** Where a syntax error is, counted in characters from 1. */
  readonly position?: number;
}

export type GateVerdict =
  | {
      /** Empty for a text without a statement. */
      readonly statements: readonly PortStatementKind[];
      /** The text without literals. */
      readonly normalized: string;
      /** With `isOneQuery`: what the statement reads that can only be a view of `data`. */
      readonly relations: readonly string[];
      readonly refusal?: undefined;
    }
  | { readonly refusal: PortRefusal; readonly normalized: string };

/** For whom a text is checked. */
export interface GateOptions {
  /** The principal's. `SET statement_timeout` may only lower it, and is refused where it is not given. */
  readonly timeoutSeconds?: number;
  /** For `query`: exactly one statement that brings rows, which is SELECT, VALUES, TABLE, EXPLAIN or SHOW. */
  readonly isOneQuery?: boolean;
}

/**
 * Decides whether a text of one or several statements may run on the port or by `query`. The server must read the text
 * as the gate does: valid UTF-8, with `search_path` `data` and `standard_conforming_strings` on.
 */
export type CheckText = (
  sql: string,
  catalog: FunctionCatalog,
  options?: GateOptions,
) => Promise<GateVerdict>;
