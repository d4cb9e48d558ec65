import { join } from "node:path";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { Row } from "../../rows/row.ts";
import { LineFile } from "../disk/line-file.ts";
import { appendNumbered, readNumbered } from "../disk/numbered-lines.ts";
import type { RowWork } from "../row-program.ts";
import { fieldOf, type InputLine, parseRow, setField } from "../row-work.ts";
import { keyOf } from "../values/keys.ts";
import { createMeasure, type Measure, type ValueSettings } from "../values/measures.ts";

/** Bytes of all groups, as far as they are known. */
const GROUPS_MAX_BYTES = 96 * 1024 * 1024;
const GROUP_BYTES = 300;
const MEASURE_BYTES = 100;

interface Group {
  readonly by: JsonObject;
  readonly measures: readonly Measure[];
}

type Lines = AsyncIterable<readonly InputLine[]>;

/**
 * Makes one row of each group of rows, in the order in which the groups first appear. When the groups fill the memory,
 * rows of further ones are put aside in a file, which is read as the next input: their groups all came later.
 */
export async function* aggregateRows(work: RowWork) {
  const { settings, allLines, outputs, folder } = work;
  const { by = [], values } = settings as unknown as {
    by?: string[];
    values: Record<string, ValueSettings>;
  };
  let lines: Lines = allLines();
  for (let pass = 0; ; pass += 1) {
    const groups = new Groups(by, values);
    const aside = new LineFile(join(folder, `aside-${pass % 2}`));
    try {
      yield* fillGroups(groups, aside, { lines, outputs });
      if (outputs.isOver) return;
      // Over no groups, there is one row even of no rows.
      if (by.length === 0) groups.addEmpty();
      yield* pushGroups(work, groups);
      if (aside.lines === 0) return;
      lines = readNumbered(aside.finish());
    } finally {
      aside.close();
    }
  }
}

/** Rows for which there is no room go into the file. */
async function* fillGroups(
  groups: Groups,
  aside: LineFile,
  { lines, outputs }: { readonly lines: Lines; readonly outputs: RowWork["outputs"] },
) {
  for await (const batch of lines) {
    for (const line of batch) {
      outputs.attempt(line, () => {
        if (!groups.add(parseRow(line.text))) appendNumbered(aside, line);
      });
      if (outputs.isOver) return;
    }
    yield;
  }
}

/** The groups that are in memory. */
class Groups {
  readonly #by: readonly string[];
  readonly #wanted: readonly (readonly [string, ValueSettings])[];
  readonly #groups = new Map<string, Group>();
  #bytes = 0;

  constructor(by: readonly string[], values: Readonly<Record<string, ValueSettings>>) {
    this.#by = by;
    this.#wanted = Object.entries(values);
  }

  /** Returns false for a row of a further group for which there is no room; it is read again. Throws a `RowFault`. */
  add(row: Row): boolean {
    const key = keyOf(row, this.#by);
    const known = this.#groups.get(key);
    if (known === undefined && this.#bytes > GROUPS_MAX_BYTES) return false;
    const group = known ?? this.#groupOf(row);
    // All of them before any is added: a row that is left out counts nowhere, and makes no group.
    const adds = group.measures.map((measure) => measure.read(row));
    if (known === undefined) this.#keep(key, group);
    for (const add of adds) this.#bytes += add();
    return true;
  }

  addEmpty(): void {
    if (this.#groups.size === 0) this.#keep("", this.#groupOf({}));
  }

  *rows(): Generator<() => JsonObject, void> {
    for (const { by, measures } of this.#groups.values())
      yield () => {
        const row: Record<string, unknown> = { ...by };
        for (const [index, [name]] of this.#wanted.entries())
          setField(row, name, measures[index]?.value());
        return row as JsonObject;
      };
  }

  #groupOf(row: Row): Group {
    const fields: Record<string, unknown> = {};
    for (const name of this.#by) setField(fields, name, fieldOf(row, name));
    const measures = this.#wanted.map(([, value]) => createMeasure(value));
    return { by: fields as JsonObject, measures };
  }

  #keep(key: string, group: Group): void {
    this.#groups.set(key, group);
    this.#bytes += GROUP_BYTES + key.length * 2 + group.measures.length * MEASURE_BYTES;
  }
}

async function* pushGroups({ outputs }: RowWork, groups: Groups) {
  let number = 0;
  for (const made of groups.rows()) {
    number += 1;
    outputs.attempt({ text: "{}", number }, () => outputs.push(made()));
    if (outputs.isFull) yield;
  }
}
