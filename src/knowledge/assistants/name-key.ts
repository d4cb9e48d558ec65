/** What is not seen: with it, one name could look like another. Names keep it, because some emoji and scripts need it. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Returns the form by which names of assistants are compared: NFKC, without invisible characters and spaces around, in
 * lower case. Lower case may leave what NFKC composes, hence the second time.
 */
export function nameKey(name: string): string {
  return name.normalize("NFKC").replaceAll(INVISIBLE, "").trim().toLowerCase().normalize("NFKC");
}
