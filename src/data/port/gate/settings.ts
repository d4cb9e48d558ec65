import { Refused } from "../../../lib/sql-gate/verdict.ts";

/** Settings that change how values look or how the client names itself. Any value; the server checks it. */
const FREE: ReadonlySet<string> = new Set([
  "application_name",
  "array_nulls",
  "bytea_output",
  "client_min_messages",
  "datestyle",
  "default_text_search_config",
  "default_transaction_deferrable",
  "default_transaction_isolation",
  "escape_string_warning",
  "extra_float_digits",
  "intervalstyle",
  "lc_messages",
  "lc_monetary",
  "lc_numeric",
  "lc_time",
  "lock_timeout",
  "quote_all_identifiers",
  "row_security",
  "timezone",
  "transaction_deferrable",
  "transaction_isolation",
  "xmlbinary",
  "xmloption",
]);

/** Without the schemas of the database's own functions: a short name must mean one of PostgreSQL's. */
const SEARCHED: ReadonlySet<string> = new Set([
  "data",
  "pg_catalog",
  "information_schema",
  "$user",
  "",
]);

const ON = /^(on|true|t|yes|y|1)$/i;
const OFF = /^(off|false|f|no|n|0)$/i;

/** Why a value is refused: what to write instead; undefined where it is not. */
type CheckValues = (
  values: readonly string[],
  timeoutSeconds: number | undefined,
) => string | undefined;

const only =
  (allowed: RegExp, hint: string): CheckValues =>
  (values) =>
    values.length === 1 && allowed.test(values[0] ?? "") ? undefined : hint;

/** Settings of which some values are harmless. Switches of the planner are not here, because no tool needs them. */
const CHECKED: ReadonlyMap<string, CheckValues> = new Map([
  ["client_encoding", only(/^[^a-z0-9]*(utf[^a-z0-9]*8|unicode)[^a-z0-9]*$/i, "Set it to UTF8.")],
  // The gate reads texts as the server does only while it is on.
  ["standard_conforming_strings", only(ON, "Leave it on.")],
  ["default_transaction_read_only", only(ON, "Leave it on: a key only reads.")],
  ["transaction_read_only", only(ON, "Leave it on: a key only reads.")],
  // Compiling a plan costs more than most of these statements.
  ["jit", only(OFF, "It can be set to off.")],
  [
    "search_path",
    (values) =>
      values.every((value) => SEARCHED.has(value))
        ? undefined
        : "It can have data, pg_catalog and information_schema.",
  ],
  [
    "statement_timeout",
    (values, timeoutSeconds = 0) => {
      const milliseconds = values.length === 1 ? readTime(values[0] ?? "") : Number.NaN;
      return milliseconds >= 1 && milliseconds <= timeoutSeconds * 1000
        ? undefined
        : `It can only be lowered: to 1 ms at least and ${timeoutSeconds} s at most.`;
    },
  ],
]);

const TIME = /^\s*(\d{1,12}(?:\.\d{0,9})?)\s*(us|ms|s|min|h|d)?\s*$/;
const UNITS: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

function readTime(text: string): number {
  const [, amount, unit = "ms"] = TIME.exec(text) ?? [];
  return Number(amount) * (UNITS[unit] ?? Number.NaN);
}

/**
 * Throws `Refused` unless a client may set this setting to these values. Without values it goes back to its default,
 * which the session's role has. Also for settings in the message that starts a session, whose lists are one value each
 * member.
 */
export function checkSetting(
  setting: string,
  values: readonly string[] | undefined,
  timeoutSeconds: number | undefined,
): void {
  const name = setting.toLowerCase();
  if (FREE.has(name)) return;
  const check = CHECKED.get(name);
  if (check === undefined) {
    throw new Refused(
      `Setting ${name} is refused.`,
      "A client can set formats, TimeZone, search_path, application_name, isolation and a lower statement_timeout.",
    );
  }
  const hint = values === undefined ? undefined : check(values, timeoutSeconds);
  if (hint !== undefined) throw new Refused(`Setting ${name} to this value is refused.`, hint);
}
