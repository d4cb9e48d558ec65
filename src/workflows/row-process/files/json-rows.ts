import type { SourceFile } from "../../../knowledge/readers/reader.ts";
import { readText } from "../../../knowledge/readers/shared/read-text.ts";
import { parseExactJson } from "../../../lib/json/exact-json.ts";
import { isJsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { MAX_ROW_BYTES } from "../../rows/row.ts";
import { ProgramFailure, RowFault } from "../row-work.ts";
import type { FileRow } from "./file-rows.ts";

/** Yields the objects of one document: the items of a list, or a single object. Lists are read as a stream. */
export async function* readJsonRows(file: SourceFile): AsyncGenerator<FileRow, void> {
  const splitter = new ItemSplitter();
  for await (const piece of readText(file)) {
    for (const text of splitter.read(piece)) yield rowOf(text, true);
  }
  splitter.end();
}

/** Yields the objects of the lines; a line that is none is a row that could not be taken. */
export async function* readJsonLines(file: SourceFile): AsyncGenerator<FileRow, void> {
  let rest = "";
  for await (const piece of readText(file)) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_ROW_BYTES) throw tooLong();
    for (const line of lines) if (line.trim() !== "") yield rowOf(line, false);
  }
  if (rest.trim() !== "") yield rowOf(rest, false);
}

function rowOf(text: string, isStrict: boolean): FileRow {
  if (text.length > MAX_ROW_BYTES) throw tooLong();
  let value: JsonValue;
  try {
    value = parseExactJson(text);
  } catch (thrown) {
    if (isStrict) throw notJson(thrown);
    return { fault: new RowFault("invalid_json", "The line is no JSON.", { cause: thrown }) };
  }
  return { row: isJsonObject(value) ? value : { value } };
}

/** Cuts the text of a list into the texts of its items; of any other value it is the value itself. */
class ItemSplitter {
  #isList: boolean | undefined;
  #isEnded = false;
  #isAfterComma = false;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #item: string[] = [];
  #itemLength = 0;

  *read(piece: string): Generator<string, void> {
    let start = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const character = piece[at] as string;
      if (this.#isList === undefined) {
        if (/[\s\ufeff]/.test(character)) {
          start = at + 1;
          continue;
        }
        this.#isList = character === "[";
        if (this.#isList) {
          start = at + 1;
          continue;
        }
      }
      if (!this.#isBoundary(character)) continue;
      // The brace that closes a single object belongs to it; a comma and the list's end belong to no item.
      const end = this.#isList ? at : at + 1;
      yield* this.#take(piece.slice(start, end));
      start = at + 1;
    }
    this.#keep(piece.slice(start));
  }

  /** Throws when the text ends too early, or goes on behind its value. */
  end(): void {
    const rest = this.#item.join("").trim();
    if (this.#isList === undefined) return;
    if (rest !== "" || !this.#isEnded) throw notJson();
  }

  /** Whether an item ends at this character. */
  #isBoundary(character: string): boolean {
    if (this.#isEnded) {
      if (/\S/.test(character)) throw notJson();
      return false;
    }
    if (this.#isInText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === "\\") this.#isEscaped = true;
      else if (character === '"') this.#isInText = false;
      return false;
    }
    switch (character) {
      case '"':
        this.#isInText = true;
        return false;
      case "{":
      case "[":
        this.#depth += 1;
        return false;
      case "}":
      case "]":
        this.#depth -= 1;
        this.#isEnded ||= this.#depth === (this.#isList === true ? -1 : 0);
        return this.#isEnded && this.#depth <= 0;
      case ",":
        return this.#isList === true && this.#depth === 0;
      default:
        return false;
    }
  }

  *#take(last: string): Generator<string, void> {
    this.#keep(last);
    const text = this.#item.join("").trim();
    this.#item = [];
    this.#itemLength = 0;
    // An empty list has no item; any other empty item is a comma too many.
    if (text !== "") yield text;
    else if (!this.#isEnded || this.#isAfterComma) throw notJson();
    this.#isAfterComma = true;
  }

  #keep(text: string): void {
    if (text === "") return;
    this.#itemLength += text.length;
    if (this.#itemLength > MAX_ROW_BYTES * 2) throw tooLong();
    this.#item.push(text);
  }
}

function notJson(cause?: unknown): ProgramFailure {
  return new ProgramFailure("unreadable_file", "The file is no JSON.", { cause });
}

function tooLong(): ProgramFailure {
  return new ProgramFailure(
    "unreadable_file",
    `An object of the file has more than ${MAX_ROW_BYTES} bytes of JSON.`,
  );
}
