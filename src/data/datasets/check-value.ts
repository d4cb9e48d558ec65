import type { DatasetColumn } from "../../db/tables/datasets.ts";
import { isJsonObject, type JsonValue } from "../../lib/json/json.ts";
import { isStorableText } from "../../lib/text/storable-text.ts";

/** A value as the database reads it, or what was expected in its place. */
export type Checked = { readonly value: JsonValue } | { readonly expected: string };

const INTEGER = /^[+-]?\d{1,19}$/;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
/** A number with a point and an exponent of up to three digits: far within what the database keeps exactly. */
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$/;
const NOT_ZERO = /^[+-]?[\d.]*[1-9]/;
const DECIMAL_MAX_CHARACTERS = 1_000;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIMESTAMP =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?([Zz]|[+-]\d\d(?::?\d\d)?)?)?$/;
const MAX_DEPTH = 64;

type Check = (value: string | number | boolean | JsonValue) => JsonValue | undefined;

/** What each type takes, in words for people. */
const EXPECTED = {
  text: "a text without NUL and lone surrogates",
  integer: 'a whole number of 64 bits, beyond 2^53 as a text: 12 or "12"',
  decimal: 'a decimal number: 12.50 or "12.50"',
  number: 'a number: 12.5 or "12.5"',
  boolean: "true or false",
  date: 'a date: "2026-11-23"',
  timestamp: 'a time: "2026-11-23T14:05:00Z"; without a zone it is UTC',
  json: `JSON without NUL, up to ${MAX_DEPTH} levels deep`,
} as const satisfies Record<DatasetColumn["type"], string>;

/** A value is converted only where nothing of it is lost; undefined means that it is not one of this type. */
const CHECKS: Readonly<Record<DatasetColumn["type"], Check>> = {
  text(value) {
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    return typeof value === "string" && isStorableText(value) ? value : undefined;
  },
  integer(value) {
    if (typeof value === "number") return Number.isSafeInteger(value) ? String(value) : undefined;
    if (typeof value !== "string" || !INTEGER.test(value)) return undefined;
    const integer = BigInt(value.replace("+", ""));
    return integer >= INT64_MIN && integer <= INT64_MAX ? String(integer) : undefined;
  },
  decimal: (value) => numeric(value),
  number(value) {
    const text = numeric(value);
    if (text === undefined || !Number.isFinite(Number(text))) return undefined;
    // Too small for the type, which would make it 0.
    if (Number(text) === 0 && NOT_ZERO.test(text)) return undefined;
    return Number(text);
  },
  boolean(value) {
    if (typeof value === "boolean") return value;
    if (typeof value !== "string") return undefined;
    const word = value.toLowerCase();
    return word === "true" || word === "false" ? word === "true" : undefined;
  },
  date: (value) => (typeof value === "string" && isDate(value) ? value : undefined),
  timestamp: (value) => (typeof value === "string" ? timestampOf(value) : undefined),
  json: (value) => (isStorable(value, MAX_DEPTH) ? value : undefined),
};

/** Checks a value that is not null for a column of this type. */
export function checkValue(value: JsonValue, type: DatasetColumn["type"]): Checked {
  const checked = CHECKS[type](value);
  return checked === undefined ? { expected: EXPECTED[type] } : { value: checked };
}

function numeric(value: JsonValue): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value !== "string" || value.length > DECIMAL_MAX_CHARACTERS) return undefined;
  return DECIMAL.test(value) ? value : undefined;
}

function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (year === undefined || Number(year) === 0) return false;
  const time = new Date(0);
  time.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return time.getUTCMonth() + 1 === Number(month) && time.getUTCDate() === Number(day);
}

/** Returns the time as the database reads it, with its zone; digits beyond microseconds are cut off. */
function timestampOf(text: string): string | undefined {
  const match = TIMESTAMP.exec(text);
  if (match === null) return undefined;
  const [, date = "", hour = "00", minute = "00", second = "00", fraction = "0", zone = "Z"] =
    match;
  if (!isDate(date) || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) {
    return undefined;
  }
  const [, hours = "0", minutes = "0"] = /^[+-](\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (Number(hours) > 15 || Number(minutes) > 59) return undefined;
  const ahead = (zone.startsWith("-") ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  if (!isWithinYears(date, Number(hour) * 60 + Number(minute) - ahead)) return undefined;
  const offset = zone.toUpperCase() === "Z" ? "+00" : zone;
  return `${date} ${hour}:${minute}:${second}.${fraction.slice(0, 6)}${offset}`;
}

/** Whether the minute, counted from the start of the day in UTC, is in a year that is written with four digits and no BC. */
function isWithinYears(date: string, minute: number): boolean {
  const year = new Date(Date.parse(date) + minute * 60_000).getUTCFullYear();
  return year >= 1 && year <= 9_999;
}

function isStorable(value: JsonValue | undefined, depth: number): boolean {
  if (typeof value === "string") return isStorableText(value);
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isStorable(item, depth - 1));
  if (!isJsonObject(value)) return true;
  return Object.entries(value).every(
    ([name, item]) => isStorableText(name) && isStorable(item, depth - 1),
  );
}
