import { createHash } from "node:crypto";
import type { RowWork } from "../row-program.ts";
import { parseRow } from "../row-work.ts";
import { keyOf } from "../values/keys.ts";

/** A longer key is remembered by its hash. */
const KEY_MAX_CHARACTERS = 22;

/** Passes on the first row of each key; the whole row is the key when no fields are named. */
export async function* dedupeRows({ settings, allLines, outputs }: RowWork) {
  const { by } = settings as { by?: string[] };
  const seen = new Set<string>();
  for await (const lines of allLines()) {
    for (const line of lines) {
      outputs.attempt(line, () => {
        const row = parseRow(line.text);
        const key = short(keyOf(row, by ?? Object.keys(row).sort(), by === undefined));
        if (seen.has(key)) return;
        seen.add(key);
        outputs.pushLine(line.text);
      });
      if (outputs.isOver) break;
    }
    yield;
  }
}

function short(key: string): string {
  if (key.length < KEY_MAX_CHARACTERS) return key;
  return createHash("md5").update(key).digest("base64").slice(0, KEY_MAX_CHARACTERS);
}
