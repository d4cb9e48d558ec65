/**
 * Tells how well a text fits what was typed: its words begin, contain, or have the letters in order. Higher is better,
 * 0 is not at all.
 */
export function matchScore(text: string, typed: string): number {
  const wanted = typed.trim().toLowerCase();
  const given = text.toLowerCase();
  if (wanted === "") return 1;
  if (given === wanted) return 5;
  if (given.startsWith(wanted)) return 4;
  if (given.split(/[\s/·-]+/).some((word) => word.startsWith(wanted))) return 3;
  if (given.includes(wanted)) return 2;
  let place = 0;
  for (const letter of wanted) {
    place = given.indexOf(letter, place) + 1;
    if (place === 0) return 0;
  }
  return 1;
}
