/** The position at which a text stops being JSON. Lines and columns start at 1; columns are in UTF-16 units. */
export interface JsonError {
  readonly line: number;
  readonly column: number;
  /** True when the text ends before the value does. */
  readonly isEnd: boolean;
}

/** How much of a text is searched. More would hold up all other calls, for an answer that helps one. */
const SEARCHED_CHARACTERS = 1_048_576;

/**
 * Finds the first error in a text that `JSON.parse` refused. The runtimes' own messages name different positions or no
 * position. Takes one pass and no recursion. Returns undefined when the text is JSON, or its first million characters
 * are free of errors.
 */
export function findJsonError(text: string): JsonError | undefined {
  const wrongAt = new Scanner(text).findWrong();
  if (wrongAt === undefined) return undefined;
  let line = 1;
  let lineStart = 0;
  for (;;) {
    const end = text.indexOf("\n", lineStart);
    if (end < 0 || end >= wrongAt) break;
    line += 1;
    lineStart = end + 1;
  }
  return { line, column: wrongAt - lineStart + 1, isEnd: wrongAt >= text.length };
}

type Expected = "value" | "value or ]" | "key" | "key or }" | "comma";

/**
 * The patterns are sticky, and each matches only the characters of its token, because a text of megabytes is scanned
 * character by character.
 */
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

const SPACES: ReadonlySet<number> = new Set(
  [" ", "\t", "\n", "\r"].map((one) => one.charCodeAt(0)),
);

class Scanner {
  readonly #text: string;
  readonly #open: ("{" | "[")[] = [];
  #expected: Expected = "value";
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the offset of the invalid token; the text's length when it ends too early. */
  findWrong(): number | undefined {
    for (;;) {
      this.#skipSpace();
      if (this.#at > SEARCHED_CHARACTERS) return undefined;
      const isWhole = this.#expected === "comma" && this.#open.length === 0;
      if (this.#at >= this.#text.length) return isWhole ? undefined : this.#text.length;
      if (isWhole || !this.#take(this.#text[this.#at] ?? "")) return this.#at;
    }
  }

  /** Advances past one token. Returns false, without advancing, when the token is not allowed here. */
  #take(character: string): boolean {
    if (this.#close(character)) return true;
    switch (this.#expected) {
      case "comma":
        if (character !== ",") return false;
        this.#expected = this.#open.at(-1) === "{" ? "key" : "value";
        this.#at += 1;
        return true;
      case "key":
      case "key or }":
        return this.#takeKey();
      case "value":
      case "value or ]":
        return this.#takeValue(character);
    }
  }

  #close(character: string): boolean {
    const [opened, empty] = character === "}" ? ["{", "key or }"] : ["[", "value or ]"];
    const isEnd = character === "}" || character === "]";
    const isComplete = this.#expected === "comma" || this.#expected === empty;
    if (!isEnd || !isComplete || this.#open.at(-1) !== opened) return false;
    this.#open.pop();
    this.#expected = "comma";
    this.#at += 1;
    return true;
  }

  #takeKey(): boolean {
    if (!this.#takeString()) return false;
    this.#skipSpace();
    if (this.#text[this.#at] !== ":") return false;
    this.#at += 1;
    this.#expected = "value";
    return true;
  }

  #takeValue(character: string): boolean {
    if (character === "{" || character === "[") {
      this.#open.push(character);
      this.#expected = character === "{" ? "key or }" : "value or ]";
      this.#at += 1;
      return true;
    }
    this.#expected = "comma";
    return character === '"' ? this.#takeString() : this.#takeMatch(SCALAR);
  }

  #takeString(): boolean {
    if (this.#text[this.#at] !== '"') return false;
    this.#at += 1;
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined || character < " ") return false;
      if (character === "\\") {
        if (!this.#takeMatch(ESCAPE)) return false;
      } else {
        this.#at += 1;
        if (character === '"') return true;
      }
    }
  }

  #takeMatch(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #skipSpace(): void {
    while (SPACES.has(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }
}
