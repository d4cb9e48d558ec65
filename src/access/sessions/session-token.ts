import { randomBase62 } from "../../lib/id.ts";

const RANDOM_LENGTH = 43;

/** Generates the token of a new session: `ses_` and 43 base62 characters, 256 bits. */
export function newSessionToken(): string {
  return `ses_${randomBase62(RANDOM_LENGTH)}`;
}
