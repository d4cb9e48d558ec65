import { randomBase62 } from "../../../lib/id.ts";

const LENGTH = 24;

/** Generates a password: 24 base62 characters, 142 bits. */
export function newPassword(): string {
  return randomBase62(LENGTH);
}
