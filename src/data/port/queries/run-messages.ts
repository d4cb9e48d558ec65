import {
  bind,
  describePortal,
  execute,
  parse,
  query,
  sync,
} from "../protocol/frontend-messages.ts";

/** Begins the transaction of one statement, under settings that its rows are read by. */
export function beginReading(timeoutMs: number): Buffer {
  const settings = [
    `statement_timeout = ${timeoutMs}`,
    "timezone = 'UTC'",
    "datestyle = 'ISO, YMD'",
    "intervalstyle = 'iso_8601'",
    "extra_float_digits = 1",
    "bytea_output = 'hex'",
    "client_encoding = 'UTF8'",
  ];
  return query(`begin read only; ${settings.map((text) => `set local ${text}`).join("; ")}`);
}

/** Runs the statement and asks for its first rows; 0 is all of them. */
export function firstGo(sql: string, values: readonly (string | null)[], rows: number): Buffer {
  return Buffer.concat([parse("", sql), bind("", "", values), describePortal(""), nextGo(rows)]);
}

/** Asks for the next rows. */
export function nextGo(rows: number): Buffer {
  return Buffer.concat([execute("", rows), sync()]);
}

export function endReading(): Buffer {
  return query("commit");
}
