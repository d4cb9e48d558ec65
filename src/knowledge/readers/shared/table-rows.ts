import type { Block, Cell } from "../reader.ts";

type Row = Extract<Block, { kind: "row" }>;

/** A text that is a number, an amount or a date rather than the name of a column. */
const FIGURE = /^[^\p{L}]*\d[^\p{L}]*$/u;

/**
 * Gives the rows of one table the names of their columns. The first row with several cells is the header, when its
 * texts differ and none is a figure; rows above it are titles. The header itself is a row, too.
 */
export class TableRows {
  readonly #place: Omit<Row, "kind" | "cells">;
  #header: readonly string[] | undefined;

  constructor(place: Omit<Row, "kind" | "cells"> = {}) {
    this.#place = place;
  }

  /** Returns undefined for a row without text. */
  row(texts: readonly string[]): Row | undefined {
    const names = this.#header ?? [];
    const cells: Cell[] = [];
    for (const [index, text] of texts.entries()) {
      const value = text.trim();
      if (value !== "") cells.push([names[index] ?? "", value]);
    }
    if (cells.length === 0) return undefined;
    if (this.#header === undefined && cells.length > 1)
      this.#header = isHeader(cells) ? texts.map(oneLine) : [];
    return { kind: "row", ...this.#place, cells };
  }
}

function isHeader(cells: readonly Cell[]): boolean {
  const values = cells.map(([, value]) => value);
  return new Set(values).size === values.length && !values.some((value) => FIGURE.test(value));
}

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ");
}
