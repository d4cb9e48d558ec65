import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "../../../lib/json/json.ts";
import { LineFile, readLineFile } from "../disk/line-file.ts";
import type { RowWork } from "../row-program.ts";
import { fieldOf, parseRow } from "../row-work.ts";
import { compareValues } from "../values/keys.ts";

/** UTF-16 units of rows that are sorted in memory; more are sorted in pieces on disk. */
const MEMORY_CHARACTERS = 40 * 1024 * 1024;
const MEMORY_ROWS = 200_000;

interface Keyed {
  readonly keys: readonly JsonValue[];
  readonly text: string;
}

interface SortField {
  readonly field: string;
  readonly order?: "asc" | "desc";
}

type Compare = (left: Keyed, right: Keyed) => number;

/** Puts the rows in order; rows with equal values stay as they came. */
export async function* sortRows({ settings, allLines, outputs, folder }: RowWork) {
  const by = (settings as unknown as { by: (string | SortField)[] }).by.map((entry) =>
    typeof entry === "string" ? { field: entry } : entry,
  );
  const compare = comparison(by);
  const keyed = (text: string): Keyed => {
    const row = parseRow(text);
    return { text, keys: by.map(({ field }) => fieldOf(row, field) ?? null) };
  };
  const files: string[] = [];
  let held: Keyed[] = [];
  let characters = 0;
  for await (const lines of allLines()) {
    for (const { text } of lines) {
      held.push(keyed(text));
      characters += text.length;
    }
    if (characters < MEMORY_CHARACTERS && held.length < MEMORY_ROWS) continue;
    files.push(writeSorted(join(folder, `sorted-${files.length}`), held.sort(compare)));
    held = [];
    characters = 0;
  }
  held.sort(compare);
  if (files.length === 0) {
    for (const { text } of held) {
      outputs.pushLine(text);
      if (outputs.isFull) yield;
    }
    return;
  }
  files.push(writeSorted(join(folder, `sorted-${files.length}`), held));
  held = [];
  for await (const text of merged(files, keyed, compare)) {
    outputs.pushLine(text);
    if (outputs.isFull) yield;
  }
}

function comparison(by: readonly SortField[]): Compare {
  return ({ keys: left }, { keys: right }) => {
    for (const [index, { order }] of by.entries()) {
      const result = compareValues(left[index] ?? null, right[index] ?? null);
      if (result !== 0) return order === "desc" ? -result : result;
    }
    return 0;
  };
}

function writeSorted(path: string, rows: readonly Keyed[]): string {
  const file = new LineFile(path);
  try {
    for (const { text } of rows) file.append(text);
    return file.finish();
  } finally {
    file.close();
  }
}

/** Merges sorted files; of equal rows the one of the earlier file is first. */
async function* merged(
  files: readonly string[],
  keyed: (text: string) => Keyed,
  compare: Compare,
): AsyncGenerator<string, void> {
  const streams = files.map((path) => createReadStream(path));
  try {
    yield* mergedLines(streams.map(readLineFile), keyed, compare);
  } finally {
    // A source that is not read to its end does not close its file.
    for (const stream of streams) stream.destroy();
  }
}

async function* mergedLines(
  sources: readonly AsyncGenerator<string, void>[],
  keyed: (text: string) => Keyed,
  compare: Compare,
): AsyncGenerator<string, void> {
  const heads: (Keyed | undefined)[] = [];
  const advance = async (index: number) => {
    const next = await sources[index]?.next();
    heads[index] = next === undefined || next.done === true ? undefined : keyed(next.value);
  };
  for (const index of sources.keys()) await advance(index);
  for (;;) {
    let best = -1;
    for (const [index, head] of heads.entries()) {
      const leader = heads[best];
      if (head !== undefined && (leader === undefined || compare(head, leader) < 0)) best = index;
    }
    const found = heads[best];
    if (found === undefined) return;
    yield found.text;
    await advance(best);
  }
}
