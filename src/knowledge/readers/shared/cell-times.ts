import { kindOfTime, type TimeFormat } from "./date-formats.ts";

/**
 * What a number in a workbook says where its format is that of a time. `impossible`: a spreadsheet shows `####`, or a
 * day that never was.
 */
export type CellTime =
  | { readonly kind: "date"; readonly day: string; readonly milliseconds: number }
  /** A time of day, or a duration, which may be negative and longer than a day. */
  | { readonly kind: "clock"; readonly milliseconds: number }
  | { readonly kind: "impossible" };

const DAY_MS = 86_400_000;
/** The number of 9999-12-31. */
const LAST_DAY = 2_958_465;
/** From the first day of 1900 to that of 1904. */
const DAYS_TO_1904 = 1_462;
/** 1900-02-29, which spreadsheets count. */
const DAY_THAT_NEVER_WAS = 60;
const IMPOSSIBLE = { kind: "impossible" } as const;

/** Reads the numbers of one workbook as times, rounded to milliseconds. */
export class CellTimes {
  readonly #isDate: (format: string) => boolean;
  readonly #is1904: boolean;
  readonly #kinds = new Map<string, TimeFormat>();

  /** @param isDate `SSF.is_date` of the library. */
  constructor(isDate: (format: string) => boolean, is1904: boolean) {
    this.#isDate = isDate;
    this.#is1904 = is1904;
  }

  /** Undefined for a number that is no time. */
  read(days: number, format: unknown): CellTime | undefined {
    const kind = typeof format === "string" ? this.#kindOf(format) : "none";
    if (kind === "none") return undefined;
    if (Math.abs(days) >= LAST_DAY + 1) return IMPOSSIBLE;
    if (kind === "duration") return { kind: "clock", milliseconds: Math.round(days * DAY_MS) };
    // Counted from 1900, a number below 1 is a time of no day.
    const isClock = days >= 0 && days < 1 && (kind === "clock" || !this.#is1904);
    const milliseconds = Math.round((days - Math.floor(days)) * DAY_MS);
    if (isClock) return { kind: "clock", milliseconds: Math.min(milliseconds, DAY_MS - 1) };
    const isNextDay = milliseconds === DAY_MS;
    const day = dayOf(Math.floor(days) + Number(isNextDay), this.#is1904);
    if (day === undefined) return IMPOSSIBLE;
    return { kind: "date", day, milliseconds: isNextDay ? 0 : milliseconds };
  }

  #kindOf(format: string): TimeFormat {
    let kind = this.#kinds.get(format);
    if (kind === undefined) {
      kind = kindOfTime(format, this.#isDate);
      this.#kinds.set(format, kind);
    }
    return kind;
  }
}

/** Hours, minutes and seconds, and thousandths of a second where there are any. */
export function clockText(milliseconds: number): string {
  const all = Math.abs(milliseconds);
  const seconds = Math.floor(all / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const rest = all % 1_000 === 0 ? "" : `.${String(all % 1_000).padStart(3, "0")}`;
  const text = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return `${milliseconds < 0 ? "-" : ""}${text}${rest}`;
}

/** The day of a whole number, from 1900-01-01 to 9999-12-31. */
function dayOf(number: number, is1904: boolean): string | undefined {
  if (number < 0) return undefined;
  const count = number + (is1904 ? DAYS_TO_1904 : 0);
  if (count < 1 || count > LAST_DAY || count === DAY_THAT_NEVER_WAS) return undefined;
  const lastOf1899 = Date.UTC(1899, 11, count < DAY_THAT_NEVER_WAS ? 31 : 30);
  return new Date(lastOf1899 + count * DAY_MS).toISOString().slice(0, 10);
}
