type Test = (code: number) => boolean;

export interface Alternation {
  readonly kind: "alternation";
  readonly branches: readonly (readonly PatternNode[])[];
}

export type PatternNode =
  | { readonly kind: "test"; readonly test: Test }
  /** The characters before and after the place; -1 outside the text. */
  | { readonly kind: "assert"; readonly holds: (before: number, after: number) => boolean }
  | {
      readonly kind: "repeat";
      readonly inner: PatternNode;
      readonly min: number;
      readonly max: number;
    }
  | Alternation;

const COUNT_MAX = 1_000;
const DEPTH_MAX = 50;
const LENGTH_MAX = 1_000;
const LINE_FEED = 10;
const CODE_MAX = 0x10ffff;

const isDigit: Test = (code) => code >= 48 && code <= 57;
const isWord: Test = (code) =>
  isDigit(code) || code === 95 || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
const isSpace: Test = (code) => /\s/.test(String.fromCodePoint(code));
const not =
  (test: Test): Test =>
  (code) =>
    !test(code);
const CLASSES: Readonly<Record<string, Test>> = {
  d: isDigit,
  D: not(isDigit),
  w: isWord,
  W: not(isWord),
  s: isSpace,
  S: not(isSpace),
};
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0 };
const isEdge = (before: number, after: number) => isWord(before) !== isWord(after);

/** Parses a pattern. Throws a SyntaxError that says what is wrong. `(?i)` at the beginning ignores case. */
export function parsePattern(
  source: string,
  flags: string,
): { readonly tree: PatternNode; readonly ignoresCase: boolean } {
  if (source.length > LENGTH_MAX)
    throw new SyntaxError(`The pattern has more than ${LENGTH_MAX} characters.`);
  const ignoresCase = flags.includes("i") || source.startsWith("(?i)");
  const text = source.startsWith("(?i)") ? source.slice(4) : source;
  const parser = new Parser([...(ignoresCase ? lowered(text) : text)], ignoresCase);
  return { tree: parser.read(), ignoresCase };
}

const HEX_ESCAPE = /^\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|[xu]\{([0-9a-f]{1,6})\})$/i;
const CASED_PARTS =
  /\\[pP]\{[^}]*\}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[xu]\{[0-9a-fA-F]{1,6}\}|\\\p{ASCII}|[^\\]+/gu;

/**
 * A text in small letters, each in the place of its own: the one of `İ` would be two, and that of `Σ` depends on where it
 * stands.
 */
export function inSmallLetters(text: string): string {
  return text
    .replaceAll(/[Σς]/g, "σ")
    .split("İ")
    .map((part) => part.toLowerCase())
    .join("İ");
}

/** Escapes keep their case, because `\D` is not `\d`; but one of a letter by its number becomes the small letter. */
function lowered(text: string): string {
  return text.replaceAll(CASED_PARTS, (part) => {
    if (!part.startsWith("\\")) return inSmallLetters(part);
    const [, ...digits] = HEX_ESCAPE.exec(part) ?? [];
    const code = Number.parseInt(digits.find((found) => found !== undefined) ?? "", 16);
    if (!(code <= CODE_MAX)) return part;
    const letter = String.fromCodePoint(code);
    const small = inSmallLetters(letter);
    return small === letter ? part : small;
  });
}

class Parser {
  readonly #characters: readonly string[];
  readonly #ignoresCase: boolean;
  #at = 0;
  #depth = 0;

  constructor(characters: readonly string[], ignoresCase: boolean) {
    this.#characters = characters;
    this.#ignoresCase = ignoresCase;
  }

  read(): PatternNode {
    const tree = this.#alternation();
    if (this.#at < this.#characters.length) throw this.#fault("a ')' without its '('");
    return tree;
  }

  #alternation(): Alternation {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw this.#fault("too many groups inside one another");
    const branches: PatternNode[][] = [[]];
    for (let next = this.#peek(); next !== undefined && next !== ")"; next = this.#peek()) {
      if (next === "|") {
        this.#at += 1;
        branches.push([]);
      } else branches.at(-1)?.push(this.#repeated());
    }
    this.#depth -= 1;
    return { kind: "alternation", branches };
  }

  #repeated(): PatternNode {
    const inner = this.#single();
    const count = this.#count();
    if (count === undefined) return inner;
    // Whether a count is greedy makes no difference to whether the text matches.
    if (this.#peek() === "?") this.#at += 1;
    if (this.#count() !== undefined) throw this.#fault("a count of a count");
    return { kind: "repeat", inner, ...count };
  }

  #count(): { min: number; max: number } | undefined {
    const next = this.#peek();
    if (next === "*" || next === "+" || next === "?") {
      this.#at += 1;
      return { min: next === "+" ? 1 : 0, max: next === "?" ? 1 : Number.POSITIVE_INFINITY };
    }
    if (next !== "{") return undefined;
    const rest = this.#characters.slice(this.#at, this.#at + 12).join("");
    const found = /^\{(\d{1,4})(?:(,)(\d{1,4})?)?\}/.exec(rest);
    if (found === null) return undefined;
    this.#at += found[0].length;
    const min = Number(found[1]);
    const open = found[2] === undefined ? min : Number.POSITIVE_INFINITY;
    const max = found[3] === undefined ? open : Number(found[3]);
    if (min > COUNT_MAX || (max > COUNT_MAX && max !== Number.POSITIVE_INFINITY) || max < min)
      throw this.#fault(`a count outside 0 to ${COUNT_MAX}`);
    return { min, max };
  }

  #single(): PatternNode {
    const next = this.#take();
    switch (next) {
      case "(":
        return this.#group();
      case "[":
        return { kind: "test", test: this.#set() };
      case ".":
        return { kind: "test", test: (code) => code !== LINE_FEED };
      case "^":
        return { kind: "assert", holds: (before) => before < 0 };
      case "$":
        return { kind: "assert", holds: (_before, after) => after < 0 };
      case "\\":
        return this.#escape();
      case "*":
      case "+":
      case "?":
        throw this.#fault(`'${next}' with nothing before it`);
      default:
        return { kind: "test", test: is(codeOf(next)) };
    }
  }

  #group(): PatternNode {
    if (this.#peek() === "?") {
      const rest = this.#characters.slice(this.#at, this.#at + 40).join("");
      const opening = /^\?(?::|P?<[A-Za-z_]\w*>)/.exec(rest);
      if (opening === null) throw this.#fault("a group that looks around or sets flags");
      this.#at += opening[0].length;
    }
    const inner = this.#alternation();
    if (this.#take() !== ")") throw this.#fault("a '(' without its ')'");
    return inner;
  }

  #escape(): PatternNode {
    const next = this.#take();
    if (next === "b") return { kind: "assert", holds: isEdge };
    if (next === "B") return { kind: "assert", holds: (before, after) => !isEdge(before, after) };
    return { kind: "test", test: this.#escaped(next) };
  }

  #escaped(next: string): Test {
    const known = CLASSES[next];
    if (known !== undefined) return known;
    if (next === "p" || next === "P") return this.#property(next === "P");
    if (next === "x" || next === "u") return is(this.#hex(next === "x" ? 2 : 4));
    const control = CONTROLS[next];
    if (control !== undefined) return is(control);
    if (/[A-Za-z0-9]/.test(next) || next === "") throw this.#fault(`the escape '\\${next}'`);
    return is(codeOf(next));
  }

  #property(isNegated: boolean): Test {
    const rest = this.#characters.slice(this.#at, this.#at + 60).join("");
    const found = /^\{\w+(?:=\w+)?\}/.exec(rest);
    if (found === null) throw this.#fault("a property without its braces");
    this.#at += found[0].length;
    // One character at a time: there is nothing to backtrack. Where case is ignored, `Lu` and `Ll` are all letters that
    // have it, and `\P` is every other character.
    const property = new RegExp(`^\\p${found[0]}$`, this.#ignoresCase ? "iu" : "u");
    const test: Test = (code) => property.test(String.fromCodePoint(code));
    return isNegated ? not(test) : test;
  }

  #hex(length: number): number {
    const isBraced = this.#peek() === "{";
    const rest = this.#characters.slice(this.#at, this.#at + 8).join("");
    const found = isBraced ? /^\{([0-9a-f]{1,6})\}/i.exec(rest) : hexOf(rest, length);
    if (found?.[1] === undefined) throw this.#fault("an escape without its digits");
    this.#at += found[0].length;
    return Number.parseInt(found[1], 16);
  }

  #set(): Test {
    const isNegated = this.#peek() === "^";
    if (isNegated) this.#at += 1;
    const tests: Test[] = [];
    for (let isFirst = true; ; isFirst = false) {
      const next = this.#take();
      if (next === "") throw this.#fault("a '[' without its ']'");
      if (next === "]" && !isFirst) break;
      tests.push(this.#member(next));
    }
    const test: Test = (code) => tests.some((member) => member(code));
    return isNegated ? not(test) : test;
  }

  #member(next: string): Test {
    if (next === "\\") {
      const escaped = this.#take();
      if (isClass(escaped)) return this.#escaped(escaped);
      return this.#range(this.#codeOfEscape(escaped));
    }
    return this.#range(codeOf(next));
  }

  #range(first: number): Test {
    const last = this.#characters[this.#at + 1];
    if (this.#peek() !== "-" || last === undefined || last === "]") return is(first);
    this.#at += 2;
    const escaped = last === "\\" ? this.#take() : undefined;
    if (escaped !== undefined && isClass(escaped))
      throw this.#fault("a range that ends in a class");
    const end = escaped === undefined ? codeOf(last) : this.#codeOfEscape(escaped);
    if (end < first) throw this.#fault("a range that ends before it begins");
    return (code) => code >= first && code <= end;
  }

  /** In a set. */
  #codeOfEscape(escaped: string): number {
    if (escaped === "x" || escaped === "u") return this.#hex(escaped === "x" ? 2 : 4);
    return CONTROLS[escaped] ?? codeOf(escaped);
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #take(): string {
    this.#at += 1;
    return this.#characters[this.#at - 1] ?? "";
  }

  #fault(what: string): SyntaxError {
    return new SyntaxError(`The pattern has ${what}, which is not supported.`);
  }
}

function isClass(escaped: string): boolean {
  return CLASSES[escaped] !== undefined || escaped === "p" || escaped === "P";
}

function is(wanted: number): Test {
  return (code) => code === wanted;
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? -1;
}

function hexOf(text: string, length: number): RegExpExecArray | null {
  return new RegExp(`^([0-9a-f]{${length}})`, "i").exec(text);
}
