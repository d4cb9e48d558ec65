import { Refused } from "../../../lib/sql-gate/verdict.ts";
import type { Principal } from "../../principal.ts";
import { checkSetting } from "../gate/settings.ts";
import { ConnectionRefusal, protocolViolation } from "./connection-refusal.ts";

/** What a client may set at its start, in PostgreSQL's own spelling. */
const ALLOWED = new Map(
  [
    "application_name",
    "client_encoding",
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "extra_float_digits",
    "search_path",
    "statement_timeout",
  ].map((name) => [name.toLowerCase(), name]),
);

/** Names of the login itself. Any user and database are taken. */
const OF_LOGIN = new Set(["user", "database", "replication", "options"]);
const NO_REPLICATION = new Set(["", "0", "off", "no", "false", "f", "n"]);
/** Of an SQL_ASCII client PostgreSQL converts nothing, so UTF-8 is the same. */
const UTF8_NAMES = new Set(["utf8", "unicode", "sqlascii"]);

const TIME = /^ *(\d{1,12}) *(us|ms|s|min|h|d)? *$/;
const MILLISECONDS = new Map([
  ["us", 0.001],
  ["ms", 1],
  ["s", 1000],
  ["min", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** A schema of a list, with its quotes. */
const SCHEMA = /"(?:[^"]|"")*"|[^\s,"]+/g;
/** Values that are checked here, and passed on in one form. */
const READERS: ReadonlyMap<string, (value: string) => string> = new Map([
  ["client_encoding", utf8],
  ["search_path", searchPath],
]);

/**
 * Reads what the session starts with from a start-up packet, also from its `options`. Throws a ConnectionRefusal for
 * what may not be set here: a connection that silently differs from what was asked for is worse than none.
 */
export function readStartParameters(sent: ReadonlyMap<string, string>): Map<string, string> {
  if (!sent.get("user")) {
    throw new ConnectionRefusal("28000", "The start-up packet names no user. Any name will do.");
  }
  if (!NO_REPLICATION.has((sent.get("replication") ?? "").toLowerCase())) {
    throw new ConnectionRefusal("0A000", "This port does not serve replication connections.");
  }
  const own = [...sent].filter(([name]) => !OF_LOGIN.has(name));
  // Also where the client names none: the gate reads statements as UTF-8, and the database must read the same.
  const parameters = new Map([["client_encoding", "UTF8"]]);
  for (const [name, value] of [...readOptions(sent.get("options") ?? ""), ...own]) {
    const known = ALLOWED.get(name.toLowerCase());
    if (known === undefined) throw notAllowed(name);
    parameters.set(known, READERS.get(known)?.(value) ?? value);
  }
  return parameters;
}

/** Throws a ConnectionRefusal when the client wants more time than its key allows. */
export function checkTimeout(
  parameters: ReadonlyMap<string, string>,
  { timeoutSeconds }: Principal,
): void {
  const asked = parameters.get("statement_timeout");
  if (asked === undefined) return;
  const [, amount, unit] = TIME.exec(asked) ?? [];
  const milliseconds = Number(amount) * (MILLISECONDS.get(unit ?? "ms") ?? 1);
  if (milliseconds > 0 && milliseconds <= timeoutSeconds * 1000) return;
  throw new ConnectionRefusal(
    "42501",
    "The connection's statement_timeout is not one that this key allows.",
    `Use between 1 and ${timeoutSeconds * 1000} milliseconds, or leave it out.`,
  );
}

/** The settings in `options`, which are words as on PostgreSQL's command line: `-c name=value` or `--name=value`. */
function readOptions(options: string): readonly (readonly [string, string])[] {
  const settings: (readonly [string, string])[] = [];
  const words = splitWords(options);
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const setting = word === "-c" ? words.shift() : /^(?:-c|--)(.+)$/s.exec(word)?.[1];
    const [, name, value] = /^([A-Za-z_][\w.-]*)=(.*)$/s.exec(setting ?? "") ?? [];
    if (name === undefined || value === undefined) {
      throw protocolViolation("The connection's options are not of the form: -c name=value");
    }
    settings.push([name.replaceAll("-", "_"), value]);
  }
  return settings;
}

/** Words are divided by white space; a backslash takes the character after it as it is. */
function splitWords(options: string): string[] {
  const words = options.match(/(?:\\[\s\S]|[^\\\s])+/g) ?? [];
  return words.map((word) => word.replace(/\\([\s\S])/g, "$1"));
}

function utf8(encoding: string): string {
  // As PostgreSQL does, which reads 'utf-8' with its quotes too.
  if (UTF8_NAMES.has(encoding.toLowerCase().replace(/[^a-z0-9]/g, ""))) return "UTF8";
  throw new ConnectionRefusal(
    "22023",
    "This port speaks UTF-8 only.",
    "Set the client's encoding (client_encoding, PGCLIENTENCODING) to UTF8.",
  );
}

/**
 * The schemas where short names are looked up, by the rule of SET. Clients name `public` beside others by habit, and nobody
 * reads anything of it here: it is left out, as PostgreSQL leaves out schemas that a role may not use.
 */
function searchPath(value: string): string {
  const all = value.match(SCHEMA) ?? [];
  const kept = all.length > 1 ? all.filter((schema) => nameOf(schema) !== "public") : all;
  try {
    checkSetting("search_path", kept.map(nameOf), undefined);
  } catch (thrown) {
    if (!(thrown instanceof Refused)) throw thrown;
    const { message, hint } = thrown.refusal;
    // biome-ignore lint/style/useErrorCause: it says the same to the client, and nobody else reads it
    throw new ConnectionRefusal("42501", message, hint);
  }
  return kept.join(", ");
}

/** As PostgreSQL reads it: in lower case unless it is quoted. */
function nameOf(schema: string): string {
  return schema.startsWith('"') ? schema.slice(1, -1).replaceAll('""', '"') : schema.toLowerCase();
}

function notAllowed(name: string): ConnectionRefusal {
  return new ConnectionRefusal(
    "42501",
    `The setting "${name.slice(0, 64)}" cannot be changed on this port.`,
    `Take it out of the connection's parameters or options. Allowed are ${[...ALLOWED.values()].join(", ")}.`,
  );
}
