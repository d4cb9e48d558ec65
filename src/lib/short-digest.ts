import { createHash } from "node:crypto";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Returns a digest of the text in letters and digits: equal for equal texts and practically unique. At most 32
 * characters.
 */
export function shortDigest(text: string, length: number): string {
  const bytes = createHash("sha256").update(text).digest().subarray(0, length);
  return Array.from(bytes, (byte) => DIGITS[byte % DIGITS.length]).join("");
}
