/** Longer filters are refused. */
const MAX_LENGTH = 1_000;
/** Leading slashes have no meaning: a backslash is a slash unless it stands before a wildcard. */
const LEADING = /^(?:\.?(?:\/|\\(?![*?[\]\\])))+/;

const ANY = Symbol("?");
const MANY = Symbol("*");
const SLASH = Symbol("/");

/** The pattern for one character of a name; `*` stands for any number of characters. */
type Piece = string | typeof ANY | typeof MANY | CharacterSet;

interface CharacterSet {
  readonly isNegated: boolean;
  /** The first and the last character of each range. */
  readonly ranges: readonly (readonly [string, string])[];
}

/** The name of one level of a path; `**` stands for any number of levels. */
type Level = readonly Piece[] | typeof MANY;

/**
 * Compiles a filter into a test of paths. Paths are relative, with slashes between their levels.
 *
 * - Without a wildcard the filter is a prefix: `reports/` matches all of that folder, `reports/2027` also
 * `reports/2027-01.csv`.
 * - `*` is any text within one level. `**` as a whole level is any number of levels, including zero: `reports/**` is
 * everything below `reports`, `reports/*` only its direct children. A slash at the end of a glob includes everything
 * below.
 * - `?` is one character, `[abc]` or `[a-f]` one of a set, `[!abc]` one outside it; a slash matches none of them.
 * - A backslash escapes `*`, `?`, `[`, `]` and `\`; any other backslash is a slash, as Windows writes it. A slash at
 * the beginning has no meaning.
 * - Case counts. A letter is the same whether its accent is part of it or follows it (NFC, NFD). A dot at the beginning
 * of a name is an ordinary character.
 *
 * A test takes at most as many steps as the filter's length times the path's. Throws a RangeError when the filter is
 * longer than 1,000 characters.
 */
export function pathGlob(filter: string): (path: string) => boolean {
  if (filter.length > MAX_LENGTH) {
    throw new RangeError(`a path filter has at most ${MAX_LENGTH} characters`);
  }
  const levels = readLevels([...filter.normalize("NFC").replace(LEADING, "")]);
  const prefix = prefixOf(levels);
  if (prefix !== undefined) return (path) => normalized(path).startsWith(prefix);
  const last = levels.at(-1);
  if (last !== MANY && last?.length === 0) levels.splice(-1, 1, MANY);
  // Anything below a folder is at least one level below it.
  if (levels.at(-1) === MANY) levels.push([MANY]);
  return (path) => matchesSequence(levels, normalized(path).split("/"), isMany, matchesLevel);
}

function normalized(path: string): string {
  return path.normalize("NFC").replace(/^(?:\.?\/)+/, "");
}

function isMany(piece: Piece | Level): boolean {
  return piece === MANY;
}

function matchesLevel(level: Level, name: string): boolean {
  return level !== MANY && matchesSequence(level, [...name], isMany, matchesCharacter);
}

function matchesCharacter(piece: Piece, character: string): boolean {
  if (typeof piece === "string") return piece === character;
  if (typeof piece === "symbol") return true;
  const { isNegated, ranges } = piece;
  const code = codeOf(character);
  return (
    ranges.some(([first, last]) => codeOf(first) <= code && code <= codeOf(last)) !== isNegated
  );
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** Returns the text of a filter that has no wildcard. */
function prefixOf(levels: readonly Level[]): string | undefined {
  const isText = (level: Level) =>
    level !== MANY && level.every((piece) => typeof piece === "string");
  if (!levels.every(isText)) return undefined;
  return levels.map((level) => level.join("")).join("/");
}

function readLevels(characters: readonly string[]): Level[] {
  const levels: Level[] = [];
  let level: Piece[] = [];
  const end = () => {
    const isAllLevels = level.length === 2 && level.every(isMany);
    levels.push(isAllLevels ? MANY : level);
    level = [];
  };
  for (let at = 0; at < characters.length; ) {
    const [piece, length] = readPiece(characters, at);
    at += length;
    if (piece !== SLASH) level.push(piece);
    // Consecutive slashes count as one.
    else if (level.length > 0) end();
  }
  end();
  return levels;
}

/** Returns the piece that begins there, and the number of its characters. */
function readPiece(
  characters: readonly string[],
  at: number,
): readonly [Piece | typeof SLASH, number] {
  const character = characters[at] ?? "";
  switch (character) {
    case "/":
      return [SLASH, 1];
    case "*":
      return [MANY, 1];
    case "?":
      return [ANY, 1];
    case "[":
      return readSet(characters, at) ?? [character, 1];
    case "\\": {
      const next = characters[at + 1] ?? "";
      return next !== "" && "*?[]\\".includes(next) ? [next, 2] : [SLASH, 1];
    }
    default:
      return [character, 1];
  }
}

/**
 * Returns the set that begins there. Undefined when it does not end within its level, so that the bracket is an
 * ordinary character.
 */
function readSet(
  characters: readonly string[],
  start: number,
): readonly [CharacterSet, number] | undefined {
  const isNegated = characters[start + 1] === "!" || characters[start + 1] === "^";
  const ranges: (readonly [string, string])[] = [];
  const first = start + (isNegated ? 2 : 1);
  let at = first;
  // A bracket in first position is a member of the set.
  while (characters[at] !== "]" || at === first) {
    if (characters[at] === "\\") at += 1;
    const member = characters[at];
    if (member === undefined || member === "/") return undefined;
    const last = characters[at + 2];
    const isRange = characters[at + 1] === "-" && last !== undefined && !"]/\\".includes(last);
    ranges.push([member, isRange ? last : member]);
    at += isRange ? 3 : 1;
  }
  return [{ isNegated, ranges }, at + 1 - start];
}

/**
 * Returns whether the items match the pattern, some parts of which stand for any number of items. On a mismatch only
 * the last such part takes one more item: that is sufficient, and bounds the steps by the product of both lengths.
 */
function matchesSequence<Part, Item>(
  pattern: readonly Part[],
  items: readonly Item[],
  isMany: (part: Part) => boolean,
  matches: (part: Part, item: Item) => boolean,
): boolean {
  let part = 0;
  let item = 0;
  let lastMany = -1;
  let takenUpTo = 0;
  while (item < items.length) {
    if (part < pattern.length && isMany(pattern[part] as Part)) {
      lastMany = part;
      takenUpTo = item;
      part += 1;
    } else if (part < pattern.length && matches(pattern[part] as Part, items[item] as Item)) {
      part += 1;
      item += 1;
    } else if (lastMany >= 0) {
      takenUpTo += 1;
      item = takenUpTo;
      part = lastMany + 1;
    } else return false;
  }
  while (part < pattern.length && isMany(pattern[part] as Part)) part += 1;
  return part === pattern.length;
}
