import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";

/** A name that is set but is not a setting. */
export interface UnknownSetting {
  readonly name: string;
  /** The setting that it resembles, if any. */
  readonly meant: string | undefined;
}

const ENVIRONMENT_FILE = ".env";
/** Names for the runtime, its libraries or the shell, which may be in the file too. */
const FOR_OTHERS =
  /^(NODE|BUN|UV|NPM|PG|SSL|LC|COMPOSE|DOCKER)_|^(TZ|LANG|PATH|HOME|NO_COLOR)$|_PROXY$/i;
const LONG_NAME = 8;

/**
 * Finds names that resemble a setting, wherever they are set, and all unknown names in the file `.env`, which is meant
 * for this program.
 *
 * @param given names that are set.
 * @param inFile those of them that `.env` sets.
 */
export function findUnknownSettings(
  given: readonly string[],
  known: readonly string[],
  inFile: ReadonlySet<string>,
): readonly UnknownSetting[] {
  const isKnown = new Set(known);
  return given.flatMap((name) => {
    if (isKnown.has(name) || FOR_OTHERS.test(name)) return [];
    const meant = known.find((setting) => resembles(name, setting));
    return meant !== undefined || inFile.has(name) ? [{ name, meant }] : [];
  });
}

/** Returns the names that `.env` in the working folder sets; empty if there is no such file. */
export function namesInEnvironmentFile(file = ENVIRONMENT_FILE): ReadonlySet<string> {
  try {
    return new Set(Object.keys(parseEnv(readFileSync(file, "utf8"))));
  } catch {
    return new Set();
  }
}

function resembles(name: string, setting: string): boolean {
  const written = name.toUpperCase().replaceAll("-", "_");
  const most = setting.length < LONG_NAME ? 1 : 2;
  if (Math.abs(written.length - setting.length) > most) return false;
  return takesEdits(written, setting, most);
}

/** Whether that many edits make one text of another: insertions, deletions, replacements and swaps of neighbours. */
function takesEdits(from: string, to: string, most: number): boolean {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = nextRow(from, to, { i, last, beforeLast });
    // Every start compares each name that is set with each setting: most of them differ from their first letters on.
    if (Math.min(...row) > most && Math.min(...last) > most) return false;
    beforeLast = last;
    last = row;
  }
  return (last[to.length] ?? Infinity) <= most;
}

interface Rows {
  /** The characters of the first text that this row is about. */
  readonly i: number;
  readonly last: readonly number[];
  readonly beforeLast: readonly number[];
}

/** The edits between the first `i` characters of one text and each beginning of the other. */
function nextRow(from: string, to: string, { i, last, beforeLast }: Rows): readonly number[] {
  const row = [i];
  for (let j = 1; j <= to.length; j += 1) {
    const isSame = from[i - 1] === to[j - 1];
    const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
    const replaced = (last[j - 1] ?? Infinity) + (isSame ? 0 : 1);
    const swapped = isSwapped ? (beforeLast[j - 2] ?? Infinity) + 1 : Infinity;
    row.push(Math.min((row[j - 1] ?? Infinity) + 1, (last[j] ?? Infinity) + 1, replaced, swapped));
  }
  return row;
}
