import { randomBase62 } from "../../lib/id.ts";

const LENGTH = 24;

/** A password made up for somebody: 24 base62 characters, 142 bits. */
export function newPassword(): string {
  return randomBase62(LENGTH);
}
