import { hash } from "@node-rs/argon2";

/** argon2id with 19 MiB and two passes. The text that comes out tells these, so that they can be raised later. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 };

/** A password as it is stored. Takes some 30 ms of one core, in a thread of its own. */
export function hashPassword(password: string): Promise<string> {
  return hash(password, COST);
}
