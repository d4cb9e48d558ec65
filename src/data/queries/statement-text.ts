import type { ViewColumnType } from "../views/data-view.ts";

/** The values of a statement: each becomes a parameter, so that none is ever part of its text. */
export class StatementValues {
  readonly #values: string[] = [];

  get all(): readonly string[] {
    return this.#values;
  }

  /** Returns the text that stands for the value. */
  add(value: string, type: ViewColumnType): string {
    this.#values.push(value);
    return `$${this.#values.length}::${type}`;
  }
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
