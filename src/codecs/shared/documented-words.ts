import * as z from "zod";

/**
 * A string whose accepted words the documentation lists. The code that reads it checks it, because that code knows
 * more: it maps words of other clients and explains in its error what the word is for.
 */
export function documentedWords(words: readonly string[]) {
  return z.string().meta({ enum: [...words] });
}

/** The same, but null means absent. */
export function nullishWords(words: readonly string[]) {
  return z
    .string()
    .nullish()
    .meta({ enum: [...words, null] });
}
