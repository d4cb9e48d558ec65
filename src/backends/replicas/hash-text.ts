/** Characters hashed at either end of a text, where two conversations usually differ. */
const END_CHARACTERS = 512;

/** Hashes a text into 32 bits, continuing from `hash`. Fast and not cryptographic: it only spreads keys. */
export function hashText(text: string, hash = 0x811c9dc5): number {
  let mixed = Math.imul(hash ^ text.length, 0x01000193);
  const firstEnd = Math.min(text.length, END_CHARACTERS);
  for (let at = 0; at < firstEnd; at++) {
    mixed = Math.imul(mixed ^ text.charCodeAt(at), 0x01000193);
  }
  for (let at = Math.max(firstEnd, text.length - END_CHARACTERS); at < text.length; at++) {
    mixed = Math.imul(mixed ^ text.charCodeAt(at), 0x01000193);
  }
  return mixed >>> 0;
}

/** Mixes a number so that every bit depends on every other. */
export function mixBits(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
