import * as z from "zod";

/**
 * A text whose words the documentation lists. Whether it is one of them is checked where it is read, which knows more:
 * it folds words of other clients and says in its error what the word is for.
 */
export function documentedWords(words: readonly string[]) {
  return z.string().meta({ enum: [...words] });
}

/** The same where null is as good as absent. */
export function nullishWords(words: readonly string[]) {
  return z
    .string()
    .nullish()
    .meta({ enum: [...words, null] });
}
