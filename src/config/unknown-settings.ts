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
  return countEdits(written, setting) <= most;
}

/** Counts the edits between two texts: insertions, deletions, replacements and swaps of neighbours. */
function countEdits(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const at = (values: readonly number[], index: number) => values[index] ?? Infinity;
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row.push(
        Math.min(
          at(row, j - 1) + 1,
          at(last, j) + 1,
          at(last, j - 1) + (isSame ? 0 : 1),
          isSwapped ? at(beforeLast, j - 2) + 1 : Infinity,
        ),
      );
    }
    beforeLast = last;
    last = row;
  }
  return last[to.length] ?? Infinity;
}
