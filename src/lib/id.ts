import { randomFillSync } from "node:crypto";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Returns `length` random base62 characters from the system's random source, without bias. */
export function randomBase62(length: number): string {
  let text = "";
  const bytes = new Uint8Array(length * 2);
  while (text.length < length) {
    randomFillSync(bytes);
    for (const byte of bytes) {
      // 248 = 4 * 62: larger bytes would favour the first letters.
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}
