/** Longer words are compared with nothing: they are no misspelt names. */
const MAX_LENGTH = 64;
/** Shorter words begin too many names. */
const LEAST_BEGINNING = 5;

/** Returns the name that a word was probably meant to be; undefined when none is close. */
export function nearestName(word: string, names: Iterable<string>): string | undefined {
  if (word.length > MAX_LENGTH) return undefined;
  const allowed = Math.max(1, Math.floor(word.length / 3));
  let nearest: string | undefined;
  let least = allowed + 1;
  for (const name of names) {
    if (name.length > MAX_LENGTH) continue;
    const distance = distanceOf(word.toLowerCase(), name.toLowerCase());
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

/** A word that was cut short is nearer than a misspelt one. */
function distanceOf(word: string, name: string): number {
  const isBeginning = word.length >= LEAST_BEGINNING && name.startsWith(word.slice(0, -1));
  return isBeginning ? 1 : countEdits(word, name);
}

/** The number of characters to insert, delete or replace (Levenshtein's distance). */
function countEdits(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const replaced = (above[at - 1] ?? 0) + (one[row - 1] === other[at - 1] ? 0 : 1);
      line.push(Math.min(replaced, (above[at] ?? 0) + 1, (line[at - 1] ?? 0) + 1));
    }
    above = line;
  }
  return above[other.length] ?? 0;
}
