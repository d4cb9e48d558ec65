import type { RowWork } from "../row-program.ts";

/** Passes on `count` rows after the first `offset` ones, and reads no further. */
export async function* limitRows({ settings, allLines, outputs }: RowWork) {
  const { count, offset = 0 } = settings as { count: number; offset?: number };
  if (count === 0) return;
  for await (const lines of allLines()) {
    for (const { text, number } of lines) {
      if (number > offset && number <= offset + count) outputs.pushLine(text);
    }
    yield;
    if ((lines.at(-1)?.number ?? 0) >= offset + count) return;
  }
}
