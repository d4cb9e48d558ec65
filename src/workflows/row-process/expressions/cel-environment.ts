import { Environment } from "@marcbachmann/cel-js";
import { parseExactJson } from "../../../lib/json/exact-json.ts";
import { RowFault } from "../row-work.ts";
import { fromCel, toCel } from "./cel-values.ts";
import { type LinearPattern, linearPattern } from "./linear-pattern.ts";

/** The library's own `matches` backtracks; calls of it are changed to this name. */
export const MATCHES = "matchesInLinearTime";
/** The library's own `timestamp` takes no date alone; calls of it are changed to this name. */
export const TIME = "timestampOf";
/** The library's own `int` takes the empty text for 0; calls of it are changed to this name. */
export const INT = "intOf";
const INTEGER = /^[+-]?\d{1,19}$/;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const PATTERNS_MAX = 100;
/** Milliseconds of the years 1 to 9999. */
const TIME_MIN = -62_135_596_800_000;
const TIME_MAX = 253_402_300_799_999;
/** Every number of this size or above is whole. */
const WHOLE_MIN = 2 ** 53;
const ISO_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)([Zz]|[+-]\d{2}:\d{2})?)?$/;
const TIMESTAMP = "google.protobuf.Timestamp";

/**
 * What expressions may use: `row`, `trigger`, `run`, the functions of CEL, and these:
 * - `lower()`, `upper()`, `replace(old, new)` of texts, beside CEL's `trim()`, `split()`, `contains()`, `size()` …
 * - `string(x)` also of null (empty), times, lists and objects (their JSON)
 * - `json(text)` reads JSON, with integers beyond 2^53 as texts; `toJson(x)` writes it
 * - `timestamp(x)` of an ISO text, of a date alone, or of seconds; without a zone it is UTC. `date(x)` of a time or
 *   of such a text is its day in UTC, `2026-11-23`
 * - `round(x, digits?)`, `floor(x)`, `ceil(x)`, `abs(x)`
 * Numbers of rows are doubles; whole and other numbers mix in every operator.
 */
export function createEnvironment(): Environment {
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 10_000, maxDepth: 100 },
  });
  for (const name of ["row", "trigger", "run"])
    environment.registerVariable(name, "map<string, dyn>");
  addNumbers(environment);
  addTexts(environment);
  addTimes(environment);
  return environment;
}

type Numbers = (left: number | bigint, right: number | bigint) => number;

const ARITHMETIC: Readonly<Record<string, Numbers>> = {
  "+": (left, right) => Number(left) + Number(right),
  "-": (left, right) => Number(left) - Number(right),
  "*": (left, right) => Number(left) * Number(right),
  "/": (left, right) => Number(left) / Number(right),
  "%": (left, right) => Number(left) % Number(right),
};

function addNumbers(environment: Environment): void {
  for (const [operator, work] of Object.entries(ARITHMETIC)) {
    environment.registerOperator(`int ${operator} double`, work);
    environment.registerOperator(`double ${operator} int`, work);
  }
  environment.registerOperator("double % double", ARITHMETIC["%"] as Numbers);
  // biome-ignore lint/suspicious/noDoubleEquals: a whole number equals the same double
  const equals = (left: bigint, right: number) => left == (right as unknown);
  environment.registerOperator("int == double", equals);
  const register = (signature: string, work: (...values: number[]) => number) =>
    environment.registerFunction(
      signature,
      (...values: (number | bigint)[]) => work(...values.map(Number)),
      { async: false },
    );
  environment.registerFunction(`${INT}(int): int`, (value: bigint) => value, { async: false });
  environment.registerFunction(`${INT}(double): int`, wholeOf, { async: false });
  environment.registerFunction(`${INT}(string): int`, integerOf, { async: false });
  for (const type of ["int", "double"]) {
    register(`floor(${type}): double`, Math.floor);
    register(`ceil(${type}): double`, Math.ceil);
    register(`abs(${type}): double`, Math.abs);
    register(`round(${type}): double`, (value) => rounded(value, 0));
    register(`round(${type}, int): double`, rounded);
  }
}

/** Towards zero. */
function wholeOf(value: number): bigint {
  if (Number.isFinite(value)) return BigInt(Math.trunc(value));
  throw failed("int() was given what is no number.");
}

function integerOf(text: string): bigint {
  const integer = INTEGER.test(text) ? BigInt(text) : undefined;
  if (integer !== undefined && integer >= INT64_MIN && integer <= INT64_MAX) return integer;
  throw failed("int() was given a text that is no whole number of 64 bits.");
}

/** Half away from zero, by the decimal digits that are shown. What has none beyond the places stays as it is. */
function rounded(value: number, digits: number): number {
  const size = Math.abs(value);
  // Whole numbers of this size are shown without places, and shifting the largest would give no number.
  if (size >= WHOLE_MIN) return value;
  const places = Math.min(15, Math.max(0, digits));
  const result = Math.sign(value) * shifted(Math.round(shifted(size, places)), -places);
  // Adding makes 0 of the zero with a sign.
  return result + 0;
}

/** Moves the point by places. Numbers that are shown with an exponent have it raised. */
function shifted(value: number, places: number): number {
  const [shown = "", exponent = "0"] = String(value).split("e");
  return Number(`${shown}e${Number(exponent) + places}`);
}

function addTexts(environment: Environment): void {
  const register = (signature: string, work: (...values: never[]) => unknown) =>
    environment.registerFunction(signature, work, { async: false });
  register("string.lower(): string", (text: string) => text.toLowerCase());
  register("string.upper(): string", (text: string) => text.toUpperCase());
  register("string.replace(string, string): string", (text: string, old: string, by: string) =>
    text.replaceAll(old, () => by),
  );
  register("string(null): string", () => "");
  for (const type of ["list", "map"]) register(`string(${type}): string`, toJson);
  register("size(null): int", () => 0n);
  register("json(string): dyn", readJson);
  register("toJson(dyn): string", toJson);
  const patterns = new Map<string, LinearPattern>();
  register(`string.${MATCHES}(string): bool`, (text: string, source: string) =>
    matches(patterns, text, source),
  );
}

function addTimes(environment: Environment): void {
  const register = (signature: string, work: (...values: never[]) => unknown) =>
    environment.registerFunction(signature, work, { async: false });
  register(`${TIME}(string): ${TIMESTAMP}`, readTime);
  register(`${TIME}(${TIMESTAMP}): ${TIMESTAMP}`, (time: Date) => time);
  for (const type of ["int", "double"])
    register(`${TIME}(${type}): ${TIMESTAMP}`, (value: number | bigint) =>
      timeOf(Number(value) * 1_000),
    );
  register(`date(${TIMESTAMP}): string`, (time: Date) => time.toISOString().slice(0, 10));
  register("date(string): string", (text: string) => readTime(text).toISOString().slice(0, 10));
  register(`string(${TIMESTAMP}): string`, (time: Date) => time.toISOString());
}

function readTime(text: string): Date {
  const [, day = "", time, zone = "Z"] = ISO_TIME.exec(text) ?? [];
  const midnight = Date.parse(day);
  // Some runtimes take the 31st of any month for a day of the next one.
  const isDay = !Number.isNaN(midnight) && timeOf(midnight).toISOString().startsWith(day);
  if (!isDay) return timeOf(Number.NaN);
  return timeOf(time === undefined ? midnight : Date.parse(`${day}T${time}${zone.toUpperCase()}`));
}

function timeOf(ms: number): Date {
  if (ms >= TIME_MIN && ms <= TIME_MAX) return new Date(ms);
  throw new RowFault("expression_failed", "This is no time. Write it as 2026-11-23T10:00:00Z.");
}

function readJson(text: string): unknown {
  try {
    return toCel(parseExactJson(text));
  } catch (thrown) {
    throw failed("json() was given a text that is no JSON.", thrown);
  }
}

function toJson(value: unknown): string {
  return JSON.stringify(fromCel(value));
}

function matches(patterns: Map<string, LinearPattern>, text: string, source: string): boolean {
  let pattern = patterns.get(source);
  try {
    if (pattern === undefined) {
      // Patterns that come out of rows must not pile up.
      if (patterns.size >= PATTERNS_MAX) patterns.clear();
      pattern = linearPattern(source);
      patterns.set(source, pattern);
    }
    return pattern.test(text);
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError || thrown instanceof RangeError)) throw thrown;
    throw failed(`matches() failed: ${thrown.message}`, thrown);
  }
}

function failed(message: string, cause?: unknown): RowFault {
  return new RowFault("expression_failed", message, { cause });
}
