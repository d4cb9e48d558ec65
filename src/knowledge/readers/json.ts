import { parseExactJson } from "../../lib/json/exact-json.ts";
import type { JsonValue } from "../../lib/json/json.ts";
import { isDeeperThan } from "../../lib/json/json-depth.ts";
import {
  type Block,
  type Cell,
  type Reader,
  type SourceFile,
  tooManyCharacters,
} from "./reader.ts";
import { Paragraphs } from "./shared/paragraphs.ts";
import { readLines, readWholeText } from "./shared/read-text.ts";

const LINES_EXTENSIONS = new Set(["jsonl", "ndjson"]);
const DEPTH_MAX = 100;

/** One document. What is no JSON in spite of its name is read as text. */
export const jsonReader: Reader = {
  format: "JSON",
  matches: (file) => file.extension === "json" || file.extension === "geojson",
  read: readDocument,
};

/** A document a line; a line that is none is text. */
export const jsonLinesReader: Reader = {
  format: "JSONL",
  matches: (file) => LINES_EXTENSIONS.has(file.extension),
  read: readDocuments,
};

async function* readDocument(file: SourceFile): AsyncGenerator<Block, void> {
  const text = await readWholeText(file);
  const value = parse(text);
  if (value === undefined) yield* readDocuments(file);
  else yield* rowsOf(value, "");
}

async function* readDocuments(file: SourceFile): AsyncGenerator<Block, void> {
  const paragraphs = new Paragraphs();
  for await (const text of wholeLines(file)) {
    const value = parse(text);
    const block = value === undefined ? paragraphs.add({ text, isCut: false }) : paragraphs.end();
    if (block !== undefined) yield block;
    if (value !== undefined) yield* rowsOf(value, "");
  }
  const block = paragraphs.end();
  if (block !== undefined) yield block;
}

async function* wholeLines(file: SourceFile): AsyncGenerator<string, void> {
  let pieces: string[] = [];
  let length = 0;
  for await (const lines of readLines(file)) {
    for (const { text, isCut } of lines) {
      pieces.push(text);
      length += text.length;
      if (length > file.limits.characters) throw tooManyCharacters(file.limits);
      if (isCut) continue;
      yield pieces.join("");
      pieces = [];
      length = 0;
    }
  }
}

/**
 * Undefined when the text is no JSON object or list, or nested too deeply to be data. Numbers that would be rounded are
 * texts: who searches for a number of an order must find all of its digits.
 */
function parse(text: string): JsonValue | undefined {
  if (!/^\s*[[{]/.test(text) || isDeeperThan(DEPTH_MAX, Buffer.from(text))) return undefined;
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

/**
 * A row for each object: its values with their paths, those of objects inside it included. Lists of objects come after
 * it, one row for each; `path` is the path of the value in its row.
 */
function* rowsOf(value: unknown, path: string): Generator<Block, void> {
  const cells: Cell[] = [];
  const lists: [path: string, items: readonly unknown[]][] = [];
  collect(value, path, cells, lists);
  if (cells.length > 0) yield { kind: "row", cells };
  for (const [listPath, items] of lists) {
    for (const item of items) yield* rowsOf(item, listPath);
  }
}

function collect(
  value: unknown,
  path: string,
  cells: Cell[],
  lists: [path: string, items: readonly unknown[]][],
): void {
  if (value === null || value === "") return;
  if (typeof value !== "object") cells.push([path, String(value)]);
  else if (!Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value))
      collect(inner, path === "" ? name : `${path}.${name}`, cells, lists);
  } else if (value.some((item) => typeof item === "object" && item !== null)) {
    lists.push([path, value]);
  } else {
    const text = value.filter((item) => item !== null && item !== "").join(", ");
    if (text !== "") cells.push([path, text]);
  }
}
