import type { Cell } from "../../readers/reader.ts";
import { cutBefore } from "./cut-before.ts";

const SEPARATOR = "; ";
/** The part of a line that the name of a column may take. */
const NAME_SHARE = 0.25;

/**
 * Writes a row of a table as one line, `Name: Bolt; Price: 5`. A row longer than `size` becomes several lines of at
 * most that length: they end between cells, and a cell that is divided repeats the name of its column.
 */
export function rowLines(cells: readonly Cell[], size: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  const add = (text: string) => {
    if (line !== "" && line.length + SEPARATOR.length + text.length > size) {
      lines.push(line);
      line = "";
    }
    line += line === "" ? text : SEPARATOR + text;
  };
  for (const [name, value] of cells) {
    const text = oneLine(value);
    const prefix = name === "" ? "" : `${oneLine(name)}: `;
    if (prefix.length + text.length <= size) add(prefix + text);
    else for (const piece of piecesOf(text, prefix, size)) add(piece);
  }
  if (line !== "") lines.push(line);
  return lines;
}

function* piecesOf(text: string, prefix: string, size: number): Generator<string, void> {
  const nameMax = Math.floor(size * NAME_SHARE);
  const name =
    prefix.length <= nameMax ? prefix : `${prefix.slice(0, cutBefore(prefix, 0, nameMax - 3))}…: `;
  for (let start = 0; start < text.length; ) {
    const end = cutBefore(text, start, Math.min(text.length, start + size - name.length));
    const piece = text.slice(start, end).trim();
    if (piece !== "") yield name + piece;
    start = end;
  }
}

/** A pattern of line ends with the blanks around them would look at a long run of blanks from each of its places. */
function oneLine(text: string): string {
  const [first = "", ...others] = text.split("\n");
  const last = others.pop();
  if (last === undefined) return text;
  const between = others.map((line) => line.trim()).filter((line) => line !== "");
  return [first.trimEnd(), ...between, last.trimStart()].join(" ");
}
