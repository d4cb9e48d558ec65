import type { Principal } from "../principal.ts";
import { quoteName } from "./role-refusal.ts";

/** Milliseconds of a session in a transaction without a statement. */
const IDLE_IN_TRANSACTION_MS = 60_000;
/** Readers wait only for a change of a view's definition, which takes milliseconds. */
const LOCK_TIMEOUT_MS = 5_000;
/** For each sort and hash of a statement. */
const WORK_MEMORY = "16MB";
/** What a statement may write to disk beyond that. */
const TEMP_FILE_LIMIT = "4GB";
/** The interval in which the server looks whether the client of a running statement is still there. */
const CLIENT_CHECK_MS = 2_000;

/** Attributes that no role loses again: a role with others is dropped and created again. */
const ATTRIBUTES =
  "noinherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls" as const;

export interface RoleOptions {
  readonly role: string;
  readonly canLimitFiles: boolean;
}

export function createStatement(role: string): string {
  return `create role ${quoteName(role)} ${ATTRIBUTES}`;
}

/**
 * The statements that make a role as its principal is now, without its password and its grants. They do the same
 * however often they run.
 */
export function defineRole(principal: Principal, { role, canLimitFiles }: RoleOptions): string[] {
  const name = quoteName(role);
  const until =
    principal.expiresAt === null ? "infinity" : new Date(principal.expiresAt).toISOString();
  const settings: Record<string, string | number> = {
    default_transaction_read_only: "on",
    statement_timeout: principal.timeoutSeconds * 1_000,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    client_connection_check_interval: CLIENT_CHECK_MS,
    work_mem: WORK_MEMORY,
    // One connection takes one processor of the server, which answers chat calls too.
    max_parallel_workers_per_gather: 0,
    // Compilation takes longer than it saves for most of these statements.
    jit: "off",
    search_path: "data",
    ...(canLimitFiles && { temp_file_limit: TEMP_FILE_LIMIT }),
  };
  return [
    `alter role ${name} login connection limit ${principal.maxConnections} valid until '${until}'`,
    ...Object.entries(settings).map(
      ([setting, value]) => `alter role ${name} set ${setting} = '${value}'`,
    ),
  ];
}

/** Quotes a text that has no NUL, however `standard_conforming_strings` is set. */
export function quoteText(text: string): string {
  const doubled = text.replaceAll("'", "''");
  return text.includes("\\") ? `E'${doubled.replaceAll("\\", "\\\\")}'` : `'${doubled}'`;
}
