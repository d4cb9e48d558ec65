/** Joins the class names that apply. */
export function classes(...names: ReadonlyArray<string | false | undefined>): string {
  return names.filter(Boolean).join(" ");
}
