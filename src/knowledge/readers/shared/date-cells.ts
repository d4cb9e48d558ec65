import type { CellObject } from "@e965/xlsx";
import { type DateFormat, kindOfDate } from "./date-formats.ts";

/** What a serial number of a date stands for, as the library takes it apart. */
interface Moment {
  readonly y: number;
  readonly m: number;
  readonly d: number;
  readonly H: number;
  readonly M: number;
  readonly S: number;
}

/** The part of the library that knows formats of numbers. It has no types. */
interface NumberFormats {
  readonly is_date: (format: string) => boolean;
  readonly parse_date_code: (
    serial: number,
    options: { readonly date1904: boolean },
  ) => Moment | null;
}

/**
 * Finds dates that the library cannot show: formats with dots, as in `dd.mm.yyyy`, and those with words or in the letters
 * of another language, as in `TT.MM.JJJJ`, `jj/mm/aaaa` or `d de mmmm`, which some programs write.
 */
export class DateCells {
  readonly #formats: NumberFormats;
  readonly #is1904: boolean;
  readonly #kinds = new Map<string, DateFormat>();

  constructor(formats: NumberFormats, is1904: boolean) {
    this.#formats = formats;
    this.#is1904 = is1904;
  }

  /** The date in the order of the standard, and its time where the format shows one. Undefined for any other cell. */
  textOf({ t, v, w, z }: CellObject): string | undefined {
    if (t !== "n" || typeof v !== "number" || typeof z !== "string") return undefined;
    const kind = this.#kindOf(z);
    if (kind === "none" || (kind === "known" && w !== undefined)) return undefined;
    const moment = this.#formats.parse_date_code(v, { date1904: this.#is1904 });
    if (moment === null) return undefined;
    const { y, m, d, H, M, S } = moment;
    const time = [H, M, ...(S === 0 ? [] : [S])].map(twoDigits).join(":");
    // A number below 1 is a time of no day.
    if (v < 1) return time;
    const date = `${String(y).padStart(4, "0")}-${twoDigits(m)}-${twoDigits(d)}`;
    return Number.isInteger(v) || !z.includes(":") ? date : `${date} ${time}`;
  }

  #kindOf(format: string) {
    const known = this.#kinds.get(format);
    if (known !== undefined) return known;
    const kind = this.#formats.is_date(format) ? kindOfDate(format) : "none";
    this.#kinds.set(format, kind);
    return kind;
  }
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
