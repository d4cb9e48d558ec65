/** A question with the passages of documents that a gateway has put before it. */
export interface Question {
  /** What the user asked. */
  readonly text: string;
  /** The first passage that was given; undefined: none. */
  readonly passage: { readonly number: string; readonly text: string } | undefined;
}

/** The marks are `<passages N>` and `</passages N>`, with any word for N that both share. */
const PASSAGES = /^<passages (\w+)>\n[\s\S]*?\n<\/passages \1>\s*/;
const FIRST = /<passage (\w+) number="(\d+)"[^\n]*>\n([\s\S]*?)\n<\/passage \1>/;

/** Separates what a user asked from the passages before it. */
export function readQuestion(said: string): Question {
  const [given = ""] = PASSAGES.exec(said) ?? [];
  const [, , number = "", text = ""] = FIRST.exec(given) ?? [];
  return {
    text: said.slice(given.length).trim(),
    passage: number === "" ? undefined : { number, text: text.trim() },
  };
}
