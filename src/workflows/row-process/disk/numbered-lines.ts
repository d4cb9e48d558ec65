import { createReadStream } from "node:fs";
import type { InputLine } from "../row-work.ts";
import { type LineFile, readLineFile } from "./line-file.ts";

const BATCH_ROWS = 1_000;

/** Puts a line of an input into a file, with its number. */
export function appendNumbered(file: LineFile, { number, text }: InputLine): void {
  file.append(`${number} ${text}`);
}

/** Yields the lines of such a file in batches, as those of an input. */
export async function* readNumbered(path: string): AsyncGenerator<readonly InputLine[], void> {
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
