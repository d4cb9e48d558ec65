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
    for await (const batch of lines) {
      for (const line of batch) {
        outputs.attempt(line, () => {
          if (!groups.add(parseRow(line.text))) appendNumbered(aside, line);
        });
        if (outputs.isOver) return;
      }
      yield;
    }
    // Over no groups, there is one row even of no rows.
    if (by.length === 0) groups.addEmpty();
    yield* pushGroups(work, groups);
    if (aside.lines === 0) return;
    lines = readNumbered(aside.finish());
  }
}

/** The groups that are in memory. */
class Groups {
  readonly #by: readonly string[];
  readonly #wanted: readonly (readonly [string, ValueSettings])[];
  readonly #groups = new Map<string, Group>();
  /** Of no group: they never take a row. */
  readonly #checks: readonly Measure[];
  #bytes = 0;

  constructor(by: readonly string[], values: Readonly<Record<string, ValueSettings>>) {
    this.#by = by;
    this.#wanted = Object.entries(values);
    this.#checks = this.#wanted.map(([, value]) => createMeasure(value));
  }

  /** Returns false for a row of a further group for which there is no room. Throws a `RowFault`. */
  add(row: Row): boolean {
    const key = keyOf(row, this.#by);
    const known = this.#groups.get(key);
    // All of them before any takes the row: a row that is left out counts nowhere, and makes no group.
    for (const { check } of known?.measures ?? this.#checks) check?.(row);
    const group = known ?? this.#open(key, row);
    if (group === undefined) return false;
    for (const measure of group.measures) this.#bytes += measure.add(row);
    return true;
  }

  addEmpty(): void {
    if (this.#groups.size === 0) this.#open("", {});
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

  #open(key: string, row: Row): Group | undefined {
    if (this.#bytes > GROUPS_MAX_BYTES) return undefined;
    const fields: Record<string, unknown> = {};
    for (const name of this.#by) setField(fields, name, fieldOf(row, name));
    const measures = this.#wanted.map(([, value]) => createMeasure(value));
    const group: Group = { by: fields as JsonObject, measures };
    this.#groups.set(key, group);
    this.#bytes += GROUP_BYTES + key.length * 2 + measures.length * MEASURE_BYTES;
    return group;
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
