import { isJsonObject } from "../../../../lib/json/json.ts";

/** The beginning of arguments in the form that the model was asked for. */
const OPENING = /^\s*\{\s*"input"\s*:\s*"/;
/** Arguments without the opening in this many characters, blanks included, are taken to be in another form. */
const MAX_OPENING_LENGTH = 64;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);
const LAST_IS_HIGH_SURROGATE = /[\ud800-\udbff]$/;

/**
 * Extracts the input of a custom tool from the streamed arguments of the function that stands in for it. Arguments in
 * any other form are returned as a whole at the end.
 */
export class CustomInput {
  /** Arguments that have not been read yet. */
  #held = "";
  /** The pieces of arguments in another form. */
  readonly #whole: string[] = [];
  #state: "before" | "inside" | "after" | "whole" = "before";
  #text = "";
  /** The first half of a surrogate pair, which is not valid text by itself. */
  #half = "";

  /** The input so far. */
  get text(): string {
    return this.#text;
  }

  /** Returns what these arguments add to the input; may be empty. */
  push(fragment: string): string {
    if (this.#state === "after") return "";
    if (this.#state === "whole") {
      this.#whole.push(fragment);
      return "";
    }
    this.#held += fragment;
    if (this.#state === "before") this.#readOpening();
    return this.#state === "inside" ? this.#add(this.#readString()) : "";
  }

  /** Ends the arguments. Returns the rest of the input. */
  end(): string {
    if (this.#state === "before") return this.#add(inputIn(this.#held));
    if (this.#state === "whole") return this.#add(inputIn(this.#whole.join("")));
    const half = this.#half;
    this.#half = "";
    this.#text += half;
    return half;
  }

  /** Looks for the opening only in the first characters, because every piece is searched together with those before it. */
  #readOpening(): void {
    const opening = OPENING.exec(this.#held);
    if (opening !== null) {
      this.#held = this.#held.slice(opening[0].length);
      this.#state = "inside";
    } else if (this.#held.length >= MAX_OPENING_LENGTH) {
      this.#whole.push(this.#held);
      this.#held = "";
      this.#state = "whole";
    }
  }

  #add(piece: string): string {
    let text = this.#half + piece;
    this.#half = "";
    if (this.#state === "inside" && LAST_IS_HIGH_SURROGATE.test(text)) {
      this.#half = text.slice(-1);
      text = text.slice(0, -1);
    }
    this.#text += text;
    return text;
  }

  /** Reads the text up to the closing quote, or up to an incomplete escape. */
  #readString(): string {
    const held = this.#held;
    let text = "";
    let at = 0;
    while (at < held.length) {
      const special = nextSpecial(held, at);
      text += held.slice(at, special);
      at = special;
      if (held[at] === '"') this.#state = "after";
      if (held[at] !== "\\") break;
      const length = held[at + 1] === "u" ? 6 : 2;
      if (at + length > held.length) break;
      text += unescaped(held.slice(at, at + length));
      at += length;
    }
    this.#held = this.#state === "after" ? "" : held.slice(at);
    return text;
  }
}

function nextSpecial(text: string, start: number): number {
  let index = start;
  while (index < text.length && text[index] !== '"' && text[index] !== "\\") index++;
  return index;
}

/** Decodes an escape. An escape that JSON does not define keeps its backslash. */
function unescaped(escaped: string): string {
  const letter = escaped.charAt(1);
  if (letter === "u") {
    const digits = escaped.slice(2);
    return /^[0-9a-f]{4}$/i.test(digits)
      ? String.fromCharCode(Number.parseInt(digits, 16))
      : escaped;
  }
  return ESCAPES.get(letter) ?? (/["\\/]/.test(letter) ? letter : escaped);
}

function inputIn(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  if (typeof value === "string") return value;
  if (!isJsonObject(value)) return text;
  const { input, ...others } = value;
  if (typeof input === "string") return input;
  const [only, ...rest] = Object.values(others);
  if (input === undefined && only === undefined) return "";
  return typeof only === "string" && rest.length === 0 && input === undefined ? only : text;
}
