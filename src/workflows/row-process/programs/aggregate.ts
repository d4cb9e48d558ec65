import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../../lib/json.ts";
import { LineFile, readLineFile } from "../disk/line-file.ts";
import { fieldOf, type InputLine, parseRow, type RowWork, setField } from "../row-work.ts";
import { keyOf } from "./keys.ts";
import { createMeasure, type Measure } from "./measures.ts";

/** Bytes of all groups, as far as they are known. */
const GROUPS_MAX_BYTES = 96 * 1024 * 1024;
const GROUP_BYTES = 300;
const MEASURE_BYTES = 100;
const BATCH_ROWS = 1_000;

export interface ValueSettings {
  readonly op: string;
  readonly field?: string | undefined;
}

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
  const wanted = Object.entries(values);
  let lines: Lines = allLines();
  for (let pass = 0; ; pass += 1) {
    const groups = new Map<string, Group>();
    const aside = new LineFile(join(folder, `aside-${pass % 2}`));
    let bytes = 0;
    for await (const batch of lines) {
      for (const line of batch) {
        outputs.attempt(line, () => {
          const row = parseRow(line.text);
          const key = keyOf(row, by);
          let group = groups.get(key);
          if (group === undefined && bytes > GROUPS_MAX_BYTES) {
            aside.append(`${line.number} ${line.text}`);
            return;
          }
          if (group === undefined) {
            group = newGroup(row, by, wanted);
            groups.set(key, group);
            bytes += GROUP_BYTES + key.length * 2 + wanted.length * MEASURE_BYTES;
          }
          for (const measure of group.measures) bytes += measure.add(row);
        });
        if (outputs.isOver) return;
      }
      yield;
    }
    // Over no groups, there is one row even of no rows.
    if (by.length === 0 && groups.size === 0) groups.set("", newGroup({}, [], wanted));
    yield* pushGroups(work, groups, wanted);
    if (aside.lines === 0) {
      aside.close();
      return;
    }
    lines = asideLines(aside.finish());
  }
}

function newGroup(row: JsonObject, by: string[], wanted: [string, ValueSettings][]): Group {
  const fields: Record<string, unknown> = {};
  for (const name of by) setField(fields, name, fieldOf(row, name));
  return { by: fields as JsonObject, measures: wanted.map(([, value]) => createMeasure(value)) };
}

async function* pushGroups(
  { outputs }: RowWork,
  groups: ReadonlyMap<string, Group>,
  wanted: readonly [string, ValueSettings][],
) {
  let number = 0;
  for (const { by, measures } of groups.values()) {
    number += 1;
    outputs.attempt({ text: JSON.stringify(by), number }, () => {
      const row: Record<string, unknown> = { ...by };
      for (const [index, [name]] of wanted.entries()) setField(row, name, measures[index]?.value());
      outputs.push(row as JsonObject);
    });
    if (outputs.isFull) yield;
  }
}

async function* asideLines(path: string): Lines {
  let batch: InputLine[] = [];
  for await (const line of readLineFile(createReadStream(path))) {
    const space = line.indexOf(" ");
    batch.push({ number: Number(line.slice(0, space)), text: line.slice(space + 1) });
    if (batch.length < BATCH_ROWS) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}
