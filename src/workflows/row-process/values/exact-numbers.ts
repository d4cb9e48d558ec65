import type { JsonValue } from "../../../lib/json/json.ts";
import { RowFault } from "../row-work.ts";

/** The number `digits / 10 ** places`. */
export interface Decimal {
  readonly digits: bigint;
  readonly places: number;
}

/** A number with a point and an exponent of up to three digits, so that written out it stays small. */
const NUMBER = /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;
/** Datasets take no longer decimals either; the time of longer ones would grow faster than their length. */
const NUMBER_MAX_CHARACTERS = 1_000;
const ZERO: Decimal = { digits: 0n, places: 0 };

/**
 * Returns the number that a JSON number or a text says, as it is written: 0.1 is a tenth. Undefined for every other
 * value. Throws a `RowFault` for a text that is a number of too many digits.
 */
export function decimalOf(value: JsonValue): Decimal | undefined {
  if (typeof value === "number") {
    return Number.isSafeInteger(value)
      ? { digits: BigInt(value), places: 0 }
      : decimalOf(String(value));
  }
  if (typeof value !== "string") return undefined;
  const [, whole, fraction = "", exponent = "0"] = NUMBER.exec(value) ?? [];
  if (whole === undefined) return undefined;
  if (value.length > NUMBER_MAX_CHARACTERS)
    throw new RowFault(
      "number_too_long",
      `A number in a text may have ${NUMBER_MAX_CHARACTERS} characters. Shorten it with a map step first.`,
    );
  const digits = BigInt(whole + fraction);
  const places = fraction.length - Number(exponent);
  return places >= 0 ? { digits, places } : { digits: scaled(digits, -places), places: 0 };
}

/** Whether `decimalOf` returns the number. */
export function isNumeric(value: JsonValue): boolean {
  if (typeof value === "number") return true;
  return typeof value === "string" && value.length <= NUMBER_MAX_CHARACTERS && NUMBER.test(value);
}

/** Negative, 0 or positive, as for `sort`. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  const places = Math.max(left.places, right.places);
  const difference = digitsAt(left, places) - digitsAt(right, places);
  if (difference === 0n) return 0;
  return difference < 0n ? -1 : 1;
}

/** Adds numbers up without rounding. */
export class ExactSum {
  #sum = ZERO;

  add(number: Decimal): void {
    const places = Math.max(this.#sum.places, number.places);
    this.#sum = { digits: digitsAt(this.#sum, places) + digitsAt(number, places), places };
  }

  /** All digits without an exponent, with as many places as the number with the most: 0.10 and 0.20 are "0.30". */
  toString(): string {
    const { digits, places } = this.#sum;
    if (places === 0) return String(digits);
    const sign = digits < 0n ? "-" : "";
    const text = String(digits < 0n ? -digits : digits).padStart(places + 1, "0");
    return `${sign}${text.slice(0, -places)}.${text.slice(-places)}`;
  }
}

function digitsAt({ digits, places }: Decimal, wanted: number): bigint {
  return places === wanted ? digits : scaled(digits, wanted - places);
}

function scaled(digits: bigint, places: number): bigint {
  return digits * 10n ** BigInt(places);
}
