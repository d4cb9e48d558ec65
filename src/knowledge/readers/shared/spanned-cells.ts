/** As many as HTML lets a cell reach over. */
const COLUMNS_MAX = 1_000;

/**
 * Places the cells of a table in its columns, where cells reach over several columns or rows: without that, the cells
 * after them would get the names of other columns. The text of such a cell stands in its first place only.
 */
export class SpannedCells {
  #cells: string[] = [];
  #next = 0;
  /** By column: in how many rows, with the one in hand, a cell of this row or above it takes the place. */
  #taken: number[] = [];

  beginRow(): void {
    this.#cells = [];
    this.#next = 0;
  }

  /** @param rows infinite for a cell that reaches to the end of its group of rows. */
  add(text: string, { columns, rows }: { readonly columns: number; readonly rows: number }): void {
    let first = this.#next;
    while ((this.#taken[first] ?? 0) > 0) first += 1;
    while (this.#cells.length < first) this.#cells.push("");
    this.#cells.push(text);
    this.#next = first + Math.min(columns, Math.max(1, COLUMNS_MAX - first));
    if (rows > 1) for (let at = first; at < this.#next; at += 1) this.#taken[at] = rows;
  }

  endRow(): readonly string[] {
    const left = Array.from(this.#taken, (rows = 0) => Math.max(0, rows - 1));
    this.#taken = left.slice(0, left.findLastIndex((rows) => rows > 0) + 1);
    return this.#cells;
  }

  /** No cell reaches beyond its group of rows. */
  endGroup(): void {
    this.#taken = [];
  }
}
