import { storableText } from "../../lib/text/storable-text.ts";
import type { Block, Cell } from "./reader.ts";

/** Returns a block without the characters that a database cannot store; undefined when nothing else is in it. */
export function storableBlock(block: Block): Block | undefined {
  const place = block.sheet === undefined ? block : { ...block, sheet: storableText(block.sheet) };
  if (place.kind !== "row") {
    const text = storableText(place.text);
    return text === "" ? undefined : { ...place, text };
  }
  const cells = place.cells
    .map(([name, value]): Cell => [storableText(name), storableText(value)])
    .filter(([, value]) => value !== "");
  return cells.length === 0 ? undefined : { ...place, cells };
}
