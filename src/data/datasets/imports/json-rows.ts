import type { SourceFile } from "../../../knowledge/readers/reader.ts";
import { readText } from "../../../knowledge/readers/shared/read-text.ts";
import { parseExactJson } from "../../../lib/json/exact-json.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { type FileRow, faultAt, MAX_ROW_CHARACTERS, TableFault } from "./table-job.ts";

const SPACE = /[\s\ufeff]/;

/** Lines of JSON objects; empty lines are skipped. */
export async function* ndjsonRows(file: SourceFile): AsyncGenerator<FileRow, void> {
  let line = 0;
  let rest = "";
  const rowOf = (text: string): FileRow | undefined => {
    line += 1;
    return text.trim() === "" ? undefined : { line, values: parseRow(text, line) };
  };
  for await (const piece of readText(file, "utf-8")) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_ROW_CHARACTERS) throw tooLong(line + 1);
    for (const text of lines) {
      const row = rowOf(text);
      if (row !== undefined) yield row;
    }
  }
  const row = rowOf(rest);
  if (row !== undefined) yield row;
}

/** An array of JSON objects. Only one of them is in memory. */
export async function* jsonRows(file: SourceFile): AsyncGenerator<FileRow, void> {
  const scanner = new ArrayScanner();
  for await (const piece of readText(file, "utf-8")) {
    for (const { text, line } of scanner.read(piece)) yield { line, values: parseRow(text, line) };
  }
  scanner.end();
}

/** Cuts a JSON array into the texts of its elements, wherever the pieces of its text are cut. */
class ArrayScanner {
  #line = 1;
  #state: "before" | "within" | "after" = "before";
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Of the element that has begun, from pieces before this one. */
  #text = "";
  /** The line where the element begins; undefined before its first character. */
  #startLine: number | undefined;
  #followsComma = false;

  *read(piece: string): Generator<{ readonly text: string; readonly line: number }, void> {
    let start = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const character = piece[at] as string;
      if (character === "\n") this.#line += 1;
      const border = this.#borderAt(character);
      if (border === undefined) continue;
      const element = border === "end" ? this.#text + piece.slice(start, at) : "";
      const line = this.#startLine ?? this.#line;
      start = at + 1;
      if (border === "end" && this.#closeElement(element, character === "]")) {
        yield { text: element, line };
      }
    }
    if (this.#state === "within") this.#keep(piece.slice(start));
  }

  end(): void {
    if (this.#state === "before") throw new TableFault("The file is empty; send a JSON array.");
    if (this.#state === "within") throw faultAt(this.#line, "the array is not closed.");
  }

  #keep(text: string): void {
    this.#text += text;
    if (this.#text.length > MAX_ROW_CHARACTERS) throw tooLong(this.#startLine ?? this.#line);
  }

  /** Whether an element may begin behind this character, or has ended before it. */
  #borderAt(character: string): "start" | "end" | undefined {
    if (this.#isInString) this.#readString(character);
    else if (this.#state !== "within") return this.#readOutside(character) ? "start" : undefined;
    else if (this.#endsElement(character)) return "end";
    return undefined;
  }

  #readString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === "\\") this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }

  /** Returns true at the beginning of the array. */
  #readOutside(character: string): boolean {
    if (SPACE.test(character)) return false;
    if (this.#state === "after") throw faultAt(this.#line, "text follows the end of the array.");
    if (character !== "[") throw faultAt(this.#line, "a JSON array of objects begins with '['.");
    this.#state = "within";
    return true;
  }

  /** Returns true at the character behind an element. */
  #endsElement(character: string): boolean {
    if (this.#depth === 0 && (character === "," || character === "]")) return true;
    if (this.#startLine === undefined && !SPACE.test(character)) this.#startLine = this.#line;
    if (character === '"') this.#isInString = true;
    else if (character === "{" || character === "[") this.#depth += 1;
    else if (character === "}" || character === "]") this.#depth -= 1;
    return false;
  }

  /** Returns whether there is an element: an array may be empty. */
  #closeElement(text: string, isLast: boolean): boolean {
    const isEmpty = text.trim() === "";
    if (isEmpty && (!isLast || this.#followsComma)) throw faultAt(this.#line, "a row is missing.");
    this.#text = "";
    this.#startLine = undefined;
    this.#followsComma = !isLast;
    if (isLast) this.#state = "after";
    return !isEmpty;
  }
}

/** Parses an object; whole numbers beyond 2^53, and numbers too large to be one, become texts. */
function parseRow(text: string, line: number): JsonObject {
  if (text.length > MAX_ROW_CHARACTERS) throw tooLong(line);
  let row: unknown;
  try {
    row = parseExactJson(text);
  } catch (cause) {
    throw faultAt(line, "this is not valid JSON.", cause);
  }
  if (isJsonObject(row)) return row;
  throw faultAt(line, "a row has to be a JSON object.");
}

function tooLong(line: number): TableFault {
  return faultAt(line, `the row has more than ${MAX_ROW_CHARACTERS} characters.`);
}
