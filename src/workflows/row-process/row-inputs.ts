import { gunzipSync } from "node:zlib";
import type { ReadInput } from "../../lib/worker/serve-jobs.ts";
import { CHUNK_BYTES, MAX_ROW_BYTES } from "../rows/row.ts";
import type { RowWork } from "./row-program.ts";
import type { InputLine, SentInput, SentJob } from "./row-work.ts";

const MAX_CHUNK_BYTES = CHUNK_BYTES + MAX_ROW_BYTES + 1;

/** Reads the inputs of a job: chunks are decompressed here and nowhere else on their way. */
export function readInputs(
  { inputs }: SentJob,
  readInput: ReadInput,
): Pick<RowWork, "lines" | "allLines"> {
  async function* lines(input: SentInput): AsyncGenerator<readonly InputLine[], void> {
    const index = inputs.indexOf(input);
    let number = inputs.slice(0, index).reduce((sum, { rows }) => sum + rows, 0);
    for await (const data of readInput(String(index))) {
      const text = gunzipSync(data, { maxOutputLength: MAX_CHUNK_BYTES }).toString("utf8");
      const batch: InputLine[] = [];
      for (const line of text.split("\n")) {
        if (line === "") continue;
        number += 1;
        batch.push({ text: line, number });
      }
      yield batch;
    }
  }
  return {
    lines,
    async *allLines() {
      for (const input of inputs) yield* lines(input);
    },
  };
}
