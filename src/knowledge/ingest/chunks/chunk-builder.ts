import { cutBefore, overlapFrom } from "./cut-before.ts";

/** A chunk may end earlier than this part of its size only where it must. */
const LEAST_SHARE = 0.5;
const PARAGRAPH_GAP = "\n\n";
const ROW_GAP = "\n";

interface BuilderOptions {
  readonly size: number;
  readonly overlap: number;
  readonly emit: (text: string, page: number | undefined) => void;
}

/** A paragraph or a row within the text in hand. */
interface Unit {
  readonly start: number;
  readonly end: number;
  readonly isRow: boolean;
  readonly isCut: boolean;
}

/**
 * Collects the text of a section and emits it in chunks. In hand is the text from the beginning of the next chunk:
 * what it repeats, and from `fresh` what no chunk has yet.
 */
export class ChunkBuilder {
  readonly #size: number;
  readonly #overlap: number;
  readonly #emit: BuilderOptions["emit"];
  #text = "";
  #units: Unit[] = [];
  #start = 0;
  #fresh = 0;
  #page: number | undefined;

  constructor({ size, overlap, emit }: BuilderOptions) {
    this.#size = size;
    this.#overlap = Math.min(overlap, Math.floor(size / 2));
    this.#emit = emit;
  }

  /** Adds a paragraph; the next one continues it if `isCut`. */
  addText(text: string, { page, isCut = false }: { page?: number; isCut?: boolean }): void {
    this.#turnTo(page);
    this.#forget();
    const last = this.#units.at(-1);
    if (last?.isCut) {
      this.#units.pop();
      this.#append("", text, { start: last.start, isRow: false, isCut });
    } else this.#append(PARAGRAPH_GAP, text, { isRow: false, isCut });
    this.#cutWhatIsFull();
  }

  /** Adds a line of at most `size` characters that is not divided. */
  addRow(text: string, { page }: { page?: number }): void {
    this.#turnTo(page);
    this.#forget();
    const gap = this.#units.at(-1)?.isRow ? ROW_GAP : PARAGRAPH_GAP;
    this.#append(gap, text, { isRow: true, isCut: false });
    this.#cutWhatIsFull();
  }

  /** Emits what is left; nothing of it is repeated. */
  endSection(): void {
    this.#emitTo(this.#text.length);
    this.#text = "";
    this.#units = [];
    this.#start = 0;
    this.#fresh = 0;
  }

  #turnTo(page: number | undefined): void {
    if (page === this.#page) return;
    this.#emitTo(this.#text.length);
    this.#beginAfter(this.#text.length);
    this.#page = page;
  }

  /** @param unit `start` when it continues one, whose beginning earlier chunks may have. */
  #append(gap: string, text: string, unit: Omit<Unit, "start" | "end"> & { start?: number }): void {
    const before = this.#text === "" ? "" : this.#text + gap;
    if (this.#fresh >= this.#text.length) this.#fresh = before.length;
    this.#text = before + text;
    this.#units.push({ start: before.length, ...unit, end: this.#text.length });
  }

  /** Drops the text before the next chunk. */
  #forget(): void {
    const gone = this.#start;
    if (gone === 0) return;
    this.#text = this.#text.slice(gone);
    this.#fresh -= gone;
    this.#start = 0;
    this.#units = this.#units
      .filter(({ end, isCut }) => end > gone || isCut)
      .map((unit) => ({ ...unit, start: Math.max(0, unit.start - gone), end: unit.end - gone }));
  }

  #cutWhatIsFull(): void {
    while (this.#text.length - this.#start > this.#size) {
      const end = this.#bestEnd();
      this.#emitTo(end);
      this.#beginAfter(end);
    }
  }

  /** Where the next chunk ends: beyond `fresh`, and at most `size` characters after its start. */
  #bestEnd(): number {
    const limit = this.#start + this.#size;
    const next = this.#units.findIndex(({ end }) => end > limit);
    const unit = this.#units[next];
    const last = this.#units[next - 1];
    const isAfterFresh = last !== undefined && last.end > this.#fresh;
    if (unit === undefined) return limit;
    if (isAfterFresh) {
      const isLongEnough = last.end >= this.#start + this.#size * LEAST_SHARE;
      if (isLongEnough || unit.isRow || unit.start >= limit) return last.end;
    } else if (unit.isRow || unit.start >= limit) {
      // It does not fit beside what is repeated.
      this.#start = this.#fresh;
      return unit.isRow ? unit.end : this.#bestEnd();
    }
    return cutBefore(this.#text, Math.max(this.#fresh, unit.start), limit);
  }

  #emitTo(end: number): void {
    if (end <= this.#fresh) return;
    const text = this.#text
      .slice(this.#start, end)
      .replace(/^(?:[ \t]*\n)+/, "")
      .trimEnd();
    if (text !== "" && this.#text.slice(this.#fresh, end).trim() !== "")
      this.#emit(text, this.#page);
  }

  /** Begins the next chunk after `end`, with what it repeats. */
  #beginAfter(end: number): void {
    const fresh = this.#skipGap(end);
    const start = this.#overlap === 0 ? fresh : this.#overlapBefore(end);
    this.#fresh = fresh;
    this.#start = start >= end || fresh - start > this.#size / 2 ? fresh : start;
  }

  #overlapBefore(end: number): number {
    const from = Math.max(this.#start, end - this.#overlap);
    const index = this.#units.findIndex((unit) => unit.end > from);
    const unit = this.#units[index];
    if (unit === undefined) return end;
    if (unit.start >= from) return unit.start;
    const next = this.#units[index + 1]?.start ?? end;
    if (unit.isRow) return next;
    const unitEnd = Math.min(unit.end, end);
    const start = Math.max(this.#start, unit.start);
    const at = overlapFrom(this.#text, { start, from, end: unitEnd });
    return at >= unitEnd ? next : this.#skipGap(at);
  }

  #skipGap(at: number): number {
    const gap = /\S/g;
    gap.lastIndex = at;
    return gap.exec(this.#text)?.index ?? this.#text.length;
  }
}
