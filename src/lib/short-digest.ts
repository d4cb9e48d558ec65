import { createHash } from "node:crypto";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Letters and digits made of a text: the same of the same text, and practically never of two. At most 32 of them. */
export function shortDigest(text: string, length: number): string {
  const bytes = createHash("sha256").update(text).digest().subarray(0, length);
  return Array.from(bytes, (byte) => DIGITS[byte % DIGITS.length]).join("");
}
